/** What the reader has chosen on a paper's page. */

/** Panels on a logarithmic axis. */
export const logs = new Set<string>();
