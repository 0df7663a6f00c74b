/**
 * The final filter before outputs are trusted. They were sanitized when they were recorded; only MIME types that can be
 * sanitized pass here. Markdown is not among them: the sanitizer renders it as HTML, because JupyterLab draws diagrams
 * from its fences and loads what these name.
 */
import type { IMimeBundle, IOutput } from '@jupyterlab/nbformat';

const ALLOWED_TYPES = new Set([
  'text/plain',
  'text/html',
  'text/latex',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/svg+xml',
  'application/json'
]);

const OMITTED = '[output omitted: it cannot be shown safely]';

/** The outputs without anything that could execute by itself once they are trusted. */
export function filterOutputs(outputs: readonly IOutput[]): IOutput[] {
  return outputs.map(filterOutput);
}

function filterOutput(output: IOutput): IOutput {
  switch (output.output_type) {
    case 'stream':
    case 'error':
      return output;
    case 'display_data':
    case 'execute_result':
      return { ...output, data: filterBundle(output.data as IMimeBundle) };
    default:
      return { output_type: 'stream', name: 'stdout', text: OMITTED };
  }
}

function filterBundle(data: IMimeBundle | undefined): IMimeBundle {
  const kept = Object.entries(data ?? {}).filter(([mime]) =>
    ALLOWED_TYPES.has(mime)
  );
  return kept.length ? Object.fromEntries(kept) : { 'text/plain': OMITTED };
}
