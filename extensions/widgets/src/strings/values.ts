// Texts of runs, measured times, tensors and compared branches.

export const values = {
};
