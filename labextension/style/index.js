import './cells.css';
import './sidebar.css';
import './board.css';
import './newExploration.css';
