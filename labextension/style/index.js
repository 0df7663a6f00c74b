import './cells.css';
import './sidebar.css';
