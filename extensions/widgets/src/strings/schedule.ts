// Texts of the schedule editor, its forms, witnesses and tree of states.

export const schedule = {
};
