// Warnings of JupyterLab that cannot be avoided: cells are read before they are in a document, and jsdom has no
// clipboard.
const warn = console.warn;
console.warn = (first, ...rest) => {
  if (!/Add Yjs type to a document|yjs#509|Clipboard API/.test(String(first))) {
    warn(first, ...rest);
  }
};

// jsdom has no MessageChannel, and Node's own keeps a test run from ending.
globalThis.MessageChannel ??= class {
  port1 = { onmessage: null, close() {} };
  port2 = { postMessage: () => setTimeout(() => this.port1.onmessage?.()) };
};
