/** The lines that differ between two texts. */

export interface IDiffLine {
  /** Whether the line is in both texts, only in the new one, or only in the old one. */
  sign: ' ' | '+' | '-';
  text: string;
}

/** Compare two texts by their longest common sequence of lines. */
export function lineDiff(before: string, after: string): IDiffLine[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const common = commonLengths(old, fresh);
  const lines: IDiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ sign: ' ', text: old[i++] });
      j += 1;
    } else if (
      i < old.length &&
      (j === fresh.length || common[i + 1][j] >= common[i][j + 1])
    ) {
      lines.push({ sign: '-', text: old[i++] });
    } else {
      lines.push({ sign: '+', text: fresh[j++] });
    }
  }
  return lines;
}

/** For each pair of positions, the number of common lines from there on. */
function commonLengths(old: string[], fresh: string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () =>
    new Array<number>(fresh.length + 1).fill(0)
  );
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      lengths[i][j] =
        old[i] === fresh[j]
          ? lengths[i + 1][j + 1] + 1
          : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}
