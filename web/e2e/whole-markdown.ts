/** An answer with everything that Markdown has, and what a hostile one tries with it. */
export const WHOLE = `A table that is wider than a phone:

| file | what it does | before | after | who looked at it | when |
|---|---|--:|--:|---|---|
| \`src/openagent/core/turn_runner.py\` | runs one turn from the message to the last answer | 1204 | 980 | reviewer, then a person | yesterday |
| \`retry.py\` | waits | 12 | 4 | nobody | today |

- [x] find the race
- [ ] mend it
  - [ ] with a test
- a plain point

The wait is $w = \\max(0, d - t)$, which costs $5 to $10 a day, and over a day

$$
\\sum_{i=1}^{n} \\frac{w_i}{2^i} \\le \\int_0^1 x^2 \\, dx
$$

\`\`\`python
def a_long_line(first_argument: int, second_argument: str, third_argument: float) -> dict[str, list[tuple[int, str]]]: return {}
\`\`\`

\`\`\`mermaid
graph LR
  A[message] --> B{allowed?}
  B -->|yes| C[run <img src=x onerror=alert(1)>]
  B -->|no| D[ask]
  click A href "javascript:alert(1)"
\`\`\`

\`\`\`mermaid
gantt
  title not drawn
\`\`\`

$\\href{javascript:alert(1)}{x^2}$ and <script>alert(1)</script>. The end.`
