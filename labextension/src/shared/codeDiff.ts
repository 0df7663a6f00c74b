/** The difference between the code of two candidates, by lines. */
import { diffLines } from 'diff';

/** Consecutive lines that are in both codes, only in the base, or only in the other one. */
export interface ICodePart {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** The parts of the code, with what was removed from the base. Without a base, or with equal code, it is one part. */
export function compareCode(base: string | null, code: string): ICodePart[] {
  if (base === null || base.trimEnd() === code.trimEnd()) {
    return [{ kind: 'same', text: code }];
  }
  // The last lines differ only in code if both end alike.
  const parts = diffLines(withLineEnd(base), withLineEnd(code));
  return parts.map(({ value, added, removed }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value.replace(/\n$/, '')
  }));
}

/** The number of lines that are shown for these parts. */
export function countLines(parts: readonly ICodePart[]): number {
  return parts.reduce((sum, { text }) => sum + text.split('\n').length, 0);
}

function withLineEnd(code: string): string {
  return `${code.trimEnd()}\n`;
}
