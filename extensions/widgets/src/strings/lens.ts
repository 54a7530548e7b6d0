// Texts of the tile lens and what stands below it.

export const lens = {
};
