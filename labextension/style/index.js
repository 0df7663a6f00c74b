import './cells.css';
import './sidebar.css';
import './entry.css';
