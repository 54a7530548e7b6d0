// Texts of the screen's frame: layers, panes, outline, inspector, strip, keys, sharing, the sheet of keys.

export const frame = {
};
