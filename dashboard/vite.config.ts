import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react(), tailwind()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined assets would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Otherwise each icon and hook is a file of its own: thirty more requests for the first page.
          groups: [
            { name: 'shared', test: /node_modules\/(lucide-react|@tanstack|react|react-dom)\// },
          ],
        },
      },
    },
  },
  server: {
    // For `npm run dev` next to a running server: proxy the API and the shared assets.
    proxy: { '/api': 'http://127.0.0.1:3000', '/docs': 'http://127.0.0.1:3000' },
  },
});
