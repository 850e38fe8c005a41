// The validation page is text and tables; a script gives it the theme button alone.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('data').textContent);
  const say = document.getElementById('say');
  const html = document.documentElement;
  const state = { switched: new Map() };
  const timed = [];
  const plots = [];

  /*common*/

  function draw() { /* nothing depends on the theme but colours of the style sheet */ }

  theme();
})();
