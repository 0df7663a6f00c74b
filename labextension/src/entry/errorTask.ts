/** Tasks made from cells: from one that failed, from a selection, from a comment. */
import type { ISharedCodeCell } from '@jupyter/ydoc';
import type { Cell } from '@jupyterlab/cells';

import { markOf, NAMESPACE } from '../live/generatedCell';
import { EMPTY_TASK, ITask } from './callingCell';

const IMPORT =
  /^[ \t]*(?:import[ \t]+([^#\n]+)|from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import[ \t]+([^#\n]+))/gm;

/** Matches the extension's own magics, which IPython also runs below empty lines and indented. */
const MAGIC = /^\s*%%?explora\b/;

/** Errors that correcting the code does not prevent. */
const INTERRUPT = 'KeyboardInterrupt';

/**
 * The first line of the error in a code cell's outputs, if it failed. Cells that start explorations or belong to one do
 * not count, and neither do those that the user interrupted.
 */
export function errorOf(cell: Cell | null): string | null {
  if (cell?.model.type !== 'code') {
    return null;
  }
  const shared = cell.model.sharedModel as ISharedCodeCell;
  if (MAGIC.test(shared.getSource()) || markOf(shared) !== null) {
    return null;
  }
  const error = shared
    .getOutputs()
    .find(output => output.output_type === 'error');
  return error && error.ename !== INTERRUPT
    ? `${error.ename}: ${error.evalue}`.split('\n')[0]
    : null;
}

/**
 * The task to correct a failed cell.
 *
 * @param notebook - the code of the whole notebook, which may import the libraries
 */
export function errorTask(cell: Cell, error: string, notebook: string): ITask {
  const source = cell.model.sharedModel.getSource();
  return {
    ...EMPTY_TASK,
    libraries: usedLibraries(source, notebook).join(', '),
    task: `Correct this code, and keep the names of its variables. It fails with \`${error}\`:\n\n\`\`\`python\n${source.trim()}\n\`\`\``,
    fixes: cell.model.id
  };
}

/** The libraries that code uses by a name that it, or the notebook, imports. */
export function usedLibraries(code: string, notebook: string): string[] {
  const words = new Set(code.match(/[A-Za-z_]\w*/g));
  const found = [...bindings(notebook), ...bindings(code)];
  const used = found.filter(([name]) => words.has(name));
  return [...new Set(used.map(([, library]) => library))];
}

/** The names that imports bind, with the top-level package of each. */
function bindings(source: string): [string, string][] {
  return [...source.matchAll(IMPORT)].flatMap(([, modules, from, names]) =>
    (modules ?? names).split(',').flatMap((part): [string, string][] => {
      const [, path, alias] =
        /^[\s(]*([\w.]+)(?:\s+as\s+(\w+))?/.exec(part) ?? [];
      const root = path?.split('.')[0];
      return root ? [[alias ?? root, from ?? root]] : [];
    })
  );
}

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

/** The id of the failed cell that a calling cell is to correct. */
export function fixedBy(cell: {
  getMetadata(key: string): unknown;
}): string | undefined {
  const ours = cell.getMetadata(NAMESPACE) as { fixes?: unknown } | undefined;
  return typeof ours?.fixes === 'string' ? ours.fixes : undefined;
}
