/**
 * The example for new users: works with the standard library and without a model, in seconds.
 */
export const LOAD_CELL = '%load_ext exploracoder_jupyter';

export const EXPLORE_CELL = `%%explora statistics --check "assert middle == 3 and line.slope == 2"
Compute the median of [7, 1, 3] and store it in \`middle\`;
then the linear regression of [1, 2, 3] and [3, 5, 7]; store it in \`line\``;

/** The sources of the example's cells. `loaded`: whether the kernel has loaded the extension. */
export function exampleCells(loaded: boolean): string[] {
  return loaded ? [EXPLORE_CELL] : [LOAD_CELL, EXPLORE_CELL];
}
