// Texts of checked numbers, why a rule did not fire, remarks, and the program without each pass.

export const checks = {
};
