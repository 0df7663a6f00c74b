/** The words of a selection or a comment, for the task made from them. */
import type { Cell } from '@jupyterlab/cells';

/** The selected text or else the comment at the cursor of a code cell, in words; empty if there is neither. */
export function wordsAtCursor(cell: Cell | null): string {
  const editor = cell?.model.type === 'code' ? cell.editor : null;
  if (!cell || !editor) {
    return '';
  }
  const { start, end } = editor.getSelection();
  const source = cell.model.sharedModel.getSource();
  const [from, to] = [start, end].map(place => editor.getOffsetAt(place));
  const selected = source.slice(Math.min(from, to), Math.max(from, to)).trim();
  return selected
    ? withoutHashes(selected)
    : commentAt(source.split('\n'), editor.getCursorPosition().line);
}

/** The lines of the comment that includes this line, in words. */
export function commentAt(lines: readonly string[], at: number): string {
  const isComment = (line: number) => /^\s*#/.test(lines[line] ?? '');
  if (!isComment(at)) {
    return '';
  }
  let [first, last] = [at, at];
  while (isComment(first - 1)) {
    first -= 1;
  }
  while (isComment(last + 1)) {
    last += 1;
  }
  return withoutHashes(lines.slice(first, last + 1).join('\n'));
}

/** Text without the marks of comments, if each line is one. */
function withoutHashes(text: string): string {
  const lines = text.split('\n');
  return lines.every(line => /^\s*#/.test(line))
    ? lines
        .map(line => line.replace(/^\s*#+ ?/, ''))
        .join('\n')
        .trim()
    : text;
}
