/**
 * The status line that the kernel shows below a calling cell. The kernel cannot update it after the page was reloaded
 * or the kernel was restarted, so the page writes there how the run ended.
 */
import type { ISharedCodeCell, ISharedNotebook } from '@jupyter/ydoc';
import type { IDisplayData, IOutput } from '@jupyterlab/nbformat';

import type { RunView } from '../messages';

const BOX_PATTERN = /^<div class="jp-Explora-panel"[^>]*>/;

/** How the kernel marks an error. */
const FAILED_HTML =
  '<span aria-hidden="true" style="color:var(--jp-error-color1, #c62828);font-weight:bold">✗</span> <strong>Failed.</strong> ';

/** Write below the calling cell how the run ended, unless its status line already shows it. */
export function writeFinalStatus(
  notebook: ISharedNotebook,
  run: RunView
): void {
  const status = run.activity.replace(/\.$/, '');
  const cell = notebook.cells.find(other => other.getId() === run.cell);
  if (cell?.cell_type !== 'code') {
    return;
  }
  const code = cell as ISharedCodeCell;
  const outputs = code.getOutputs();
  const stale = (output: IOutput) =>
    findBox(output) !== null &&
    !mimeText(output, 'text/plain').includes(status);
  if (outputs.some(stale)) {
    const line = statusLine(run, status);
    const now = outputs.map(output =>
      stale(output)
        ? withStatusLine(output as IDisplayData, line, run.status === 'failed')
        : output
    );
    notebook.transact(() => code.setOutputs(now), false);
  }
}

function statusLine(run: RunView, text: string) {
  const { libraries, status, subtasks } = run;
  const about = libraries.length ? `Exploring ${libraries.join(', ')}: ` : '';
  const more = status !== 'failed' || subtasks.length > 0;
  return `${about}${text}.${more ? ' See the Exploration sidebar.' : ''}`;
}

function withStatusLine(
  output: IDisplayData,
  line: string,
  failed: boolean
): IDisplayData {
  const box = findBox(output)!;
  const data = {
    ...output.data,
    'text/plain': line,
    'text/html': `${failed ? errorBox(box) + FAILED_HTML : box}${escapeHtml(line)}</div>`
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

/** The opening tag of the status line's HTML, or `null` if the output is not a status line. */
function findBox(output: IOutput): string | null {
  return BOX_PATTERN.exec(mimeText(output, 'text/html'))?.[0] ?? null;
}

function mimeText(output: IOutput, mime: string): string {
  const data = output.data as Record<string, string | string[]> | undefined;
  return [data?.[mime] ?? ''].flat().join('');
}

function escapeHtml(text: string): string {
  const node = document.createElement('span');
  node.textContent = text;
  return node.innerHTML;
}
