// Texts of graphs, groups, their search and their tree of words.

export const graph = {
};
