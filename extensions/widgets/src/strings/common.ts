// Texts that several parts share: closing, cancelling, failing, waiting, plurals.

export const common = {
};
