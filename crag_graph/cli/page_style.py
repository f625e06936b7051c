"""The style sheet of the page of a run."""

STYLE = """
:root{--ink:#1c2024;--soft:#5b636b;--line:#d9dde1;--paper:#fff;--tint:#f6f7f8;
--correct:#1a7f4b;--ambiguous:#a06800;--incorrect:#b3342c;--mark:#dff3e4}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#9aa3ab;--line:#343a40;
--paper:#16191c;--tint:#1e2226;--correct:#4cc38a;--ambiguous:#e0a83a;--incorrect:#ef7b73;
--mark:#1d4030}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:52rem;margin:0 auto;padding:2rem 1.25rem 4rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.3;margin:0 0 .75rem;white-space:pre-wrap}
h2{font-size:1.05rem;margin:2rem 0 .5rem}
h3{font-size:.95rem;margin:1rem 0 .25rem}
a{color:inherit}
ul{margin:.5rem 0;padding-left:1.25rem}
.action{display:inline-block;padding:.05rem .55rem;border:1px solid currentColor;
border-radius:1rem;font-weight:600;font-size:.85rem;font-variant-numeric:tabular-nums}
.action.unknown{color:var(--soft)}
.correct{color:var(--correct)}.ambiguous{color:var(--ambiguous)}.incorrect{color:var(--incorrect)}
.answer{background:var(--tint);border-radius:.5rem;padding:1rem 1.15rem;white-space:pre-wrap}
.mark{font-variant-numeric:tabular-nums;text-decoration:none;font-weight:600}
.note{color:var(--soft);font-size:.875rem}
.sources{list-style:none;padding:0}
.sources li{margin:.2rem 0}.sources li:target{background:var(--mark)}
.warnings{color:var(--ambiguous)}.failures{color:var(--incorrect)}
.scale{position:relative;display:flex;height:.6rem;margin:1rem 0 .25rem}
.scale i{display:block;height:100%;background:currentColor;opacity:.55}
.scale b{position:absolute;top:-.3rem;width:.3rem;height:1.2rem;margin-left:-.15rem;
background:var(--ink);border-radius:.15rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;
border-bottom:1px solid var(--line);overflow-wrap:break-word}
th{font-weight:600;white-space:nowrap}td:last-child{color:var(--soft)}td:nth-child(2){min-width:9rem}
details{border:1px solid var(--line);border-radius:.5rem;padding:.5rem .8rem;margin:.4rem 0}
summary{cursor:pointer}
.passage{white-space:pre-wrap;color:var(--soft);font-size:.92rem}
mark{background:var(--mark);color:var(--ink)}
@media print{details{break-inside:avoid}}
"""
