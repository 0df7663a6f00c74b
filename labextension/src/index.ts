import { plugins as board } from './board/plugin';
import { plugins as entry } from './entry/plugin';
import { plugins as live } from './live/plugin';
import { plugins as sidebar } from './sidebar/plugin';

export default [...live, ...entry, ...sidebar, ...board];
