import './style/tokens.css';
import './style/base.css';
import './style/ui.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element #root.');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
