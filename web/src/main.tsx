import './style/tokens.css';
import './style/base.css';
import './style/ui.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { config } from 'zod/v4/core';
import { App } from './app/App';

// The AI SDK checks chunks with zod, which would try whether it may compile code. The page's policy forbids that.
config({ jitless: true });

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element #root.');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
