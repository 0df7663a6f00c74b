/**
 * The line that the kernel shows below a calling cell. It cannot change it any more once the page was loaded anew, or
 * the kernel was restarted: then the page says there how the run has ended.
 */
import type { ISharedCodeCell, ISharedNotebook } from '@jupyter/ydoc';
import type { IDisplayData, IOutput } from '@jupyterlab/nbformat';

import type { RunView } from '../messages';

const BOX = /^<div class="jp-Explora-panel"[^>]*>/;

/** How the kernel marks an error. */
const FAILED =
  '<span aria-hidden="true" style="color:var(--jp-error-color1, #c62828);font-weight:bold">✗</span> <strong>Failed.</strong> ';

/** Say below the calling cell how the run has ended, if its line says something else. */
export function writeEnd(notebook: ISharedNotebook, run: RunView): void {
  const said = run.activity.replace(/\.$/, '');
  const cell = notebook.cells.find(other => other.getId() === run.cell);
  if (cell?.cell_type !== 'code') {
    return;
  }
  const code = cell as ISharedCodeCell;
  const outputs = code.getOutputs();
  const stale = (output: IOutput) =>
    boxOf(output) !== null && !textOf(output, 'text/plain').includes(said);
  if (outputs.some(stale)) {
    const line = lineOf(run, said);
    const now = outputs.map(output =>
      stale(output)
        ? rewritten(output as IDisplayData, line, run.status === 'failed')
        : output
    );
    notebook.transact(() => code.setOutputs(now), false);
  }
}

function lineOf({ libraries, status, subtasks }: RunView, said: string) {
  const about = libraries.length ? `Exploring ${libraries.join(', ')}: ` : '';
  const more = status !== 'failed' || subtasks.length > 0;
  return `${about}${said}.${more ? ' See the Exploration sidebar.' : ''}`;
}

function rewritten(
  output: IDisplayData,
  line: string,
  failed: boolean
): IDisplayData {
  const box = boxOf(output)!;
  const data = {
    ...output.data,
    'text/plain': line,
    'text/html': `${failed ? errorBox(box) + FAILED : box}${escaped(line)}</div>`
  };
  return { ...output, data };
}

/** The box with the kernel's style for errors. */
function errorBox(box: string): string {
  return box
    .replace(
      /border:1px solid[^;"]*/,
      'border:1px solid var(--jp-error-color1, #c62828);border-left-width:4px'
    )
    .replace(
      'var(--jp-layout-color1, transparent)',
      'var(--jp-rendermime-error-background, transparent)'
    )
    .replace(' style=', ' role="alert" style=');
}

/** How the line's HTML begins; `null` if this is no such line. */
function boxOf(output: IOutput): string | null {
  return BOX.exec(textOf(output, 'text/html'))?.[0] ?? null;
}

function textOf(output: IOutput, mime: string): string {
  const data = output.data as Record<string, string | string[]> | undefined;
  return [data?.[mime] ?? ''].flat().join('');
}

function escaped(text: string): string {
  const node = document.createElement('span');
  node.textContent = text;
  return node.innerHTML;
}
