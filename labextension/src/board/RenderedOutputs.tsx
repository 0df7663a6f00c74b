/** The outputs of a candidate as the notebook renders them: figures, tables, text and errors. */
import type { IOutput } from '@jupyterlab/nbformat';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

import { useBoardServices } from './boardContext';

/** @param props.outputs - filtered outputs (`outputFilter`): only these may be trusted */
export const RenderedOutputs = React.memo(
  (props: { outputs: readonly IOutput[] }): React.JSX.Element => {
    const { outputs } = props;
    const { rendermime } = useBoardServices();
    const node = React.useRef<HTMLDivElement>(null);
    React.useLayoutEffect(() => {
      const model = new OutputAreaModel({
        values: [...outputs],
        trusted: true
      });
      const area = new SimplifiedOutputArea({ model, rendermime });
      Widget.attach(area, node.current!);
      return () => {
        area.dispose();
        model.dispose();
      };
    }, [outputs, rendermime]);
    return <div ref={node} />;
  }
);
