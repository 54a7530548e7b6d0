// Texts of differences, rewrites, edits of programs and passes, saved changes and their restoring.

export const changes = {
};
