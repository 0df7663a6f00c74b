/**
 * The result card that the kernel shows below a calling cell. The kernel cannot update it after the page was reloaded or
 * the kernel was restarted, so the page writes there how the run ended.
 */
import type {
  ISharedCell,
  ISharedCodeCell,
  ISharedNotebook
} from '@jupyter/ydoc';
import type { IDisplayData, IOutput } from '@jupyterlab/nbformat';

import type { RunView } from '../messages';

const BOX_PATTERN = /^<div class="jp-Explora-panel[^"]*"[^>]*>/;
const RUNNING_PATTERN = /^<div class="jp-Explora-panel jp-mod-running"/;
const ENDED_PATTERN = /^<div class="jp-Explora-panel jp-mod-ended"/;

/** How the kernel marks an error. */
const FAILED_HTML =
  '<span aria-hidden="true" style="color:var(--jp-error-color1, #c62828);font-weight:bold">✗</span> <strong>Failed.</strong> ';

/** The forms of a card, by MIME type. */
type Card = Record<string, string>;

/** Whether this is the HTML of a card. */
export function isCard(html: unknown): boolean {
  return typeof html === 'string' && BOX_PATTERN.test(html);
}

/** Whether the cell shows the result of a run. A run that failed at once has none. */
export function hasEndedCard(cell: ISharedCell): boolean {
  return (
    cell.cell_type === 'code' &&
    (cell as ISharedCodeCell)
      .getOutputs()
      .some(output => ENDED_PATTERN.test(mimeText(output, 'text/html')))
  );
}

/** Write below the calling cell how the run ended, unless its card already shows it. */
export function writeFinalStatus(
  notebook: ISharedNotebook,
  run: RunView
): void {
  const card = run.card ?? {};
  const wanted = card['text/plain'];
  replaceCard(notebook, run.cell, output =>
    wanted === undefined
      ? isRunning(output)
        ? statusLine(output, run.activity, run.status === 'failed')
        : null
      : mimeText(output, 'text/plain') === wanted
        ? null
        : card
  );
}

/** Write `text` in the cards that show a run as active, except below these calling cells. */
export function markInterruptedCards(
  notebook: ISharedNotebook,
  active: ReadonlySet<string>,
  text: string
): void {
  for (const cell of notebook.cells) {
    if (!active.has(cell.getId())) {
      replaceCard(notebook, cell.getId(), output =>
        isRunning(output) ? statusLine(output, text, false) : null
      );
    }
  }
}

/** Replace the card of a cell by what `change` returns for it; it stays if that is `null`. */
function replaceCard(
  notebook: ISharedNotebook,
  id: string | null,
  change: (output: IOutput) => Card | null
): void {
  const cell = notebook.cells.find(other => other.getId() === id);
  if (cell?.cell_type !== 'code') {
    return;
  }
  const code = cell as ISharedCodeCell;
  let changed = false;
  const outputs = code.getOutputs().map(output => {
    const data = findBox(output) === null ? null : change(output);
    changed ||= data !== null;
    return data ? { ...(output as IDisplayData), data } : output;
  });
  if (changed) {
    notebook.transact(() => code.setOutputs(outputs), false);
  }
}

/** A card that has only this text. */
function statusLine(output: IOutput, text: string, failed: boolean): Card {
  const box = findBox(output)!.replace(' jp-mod-running', '');
  return {
    'text/plain': text,
    'text/html': `${failed ? errorBox(box) + FAILED_HTML : box}${escapeHtml(text)}</div>`
  };
}

/** The box with the kernel's style for errors. */
function errorBox(box: string): string {
  return box
    .replace(
      /border:1px solid[^;"]*(;border-left-width:[^;"]*)?/,
      'border:1px solid var(--jp-error-color1, #c62828);border-left-width:4px'
    )
    .replace(
      'var(--jp-layout-color1, transparent)',
      'var(--jp-rendermime-error-background, transparent)'
    )
    .replace(' style=', ' role="alert" style=');
}

function isRunning(output: IOutput): boolean {
  return RUNNING_PATTERN.test(mimeText(output, 'text/html'));
}

/** The opening tag of the card's HTML, or `null` if the output is not a card. */
function findBox(output: IOutput): string | null {
  return BOX_PATTERN.exec(mimeText(output, 'text/html'))?.[0] ?? null;
}

function mimeText(output: IOutput, mime: string): string {
  const data = output.data as Record<string, string | string[]> | undefined;
  return [data?.[mime] ?? ''].flat().join('');
}

/** The text as HTML that contains neither tags nor formulas, whose delimiters take effect only in the same element. */
function escapeHtml(text: string): string {
  const node = document.createElement('span');
  node.textContent = text;
  return node.innerHTML.replace(/[$\\]/g, '<span>$&</span>');
}
