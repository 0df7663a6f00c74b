import { plugins as board } from './board/plugin';
import { plugins as forms } from './newExploration/plugin';
import { plugins as live } from './generatedCells/plugin';
import { plugins as sidebar } from './sidebar/plugin';

export default [...live, ...forms, ...sidebar, ...board];
