// Texts of exercises, hints and predictions.

export const exercise = {
};
