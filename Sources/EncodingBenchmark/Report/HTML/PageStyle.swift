// SPDX-License-Identifier: GPL-2.0-or-later

/// The style sheet of the page.
enum PageStyle {
    static let sheet: Markup = """
        :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--text:#1a2230;--soft:#526074;--line:#d9dee6;--grid:#e8ebf0;\
        --accent:#0b57b0;--warn-bg:#fff4e0;--warn:#8a4b00;--bad-bg:#b3131b;--bad:#fff;\
        --c0:#0b62c4;--c1:#c2410c;--c2:#15803d;--c3:#8b2fd6;--c4:#8f5b00;--c5:#be185d;--c6:#0e7490;--c7:#475569}
        @media (prefers-color-scheme:dark){:root{--bg:#10141b;--card:#181e28;--text:#e6ebf2;--soft:#9fadc0;--line:#303a49;\
        --grid:#262f3c;--accent:#7fb8ff;--warn-bg:#33270f;--warn:#ffcf80;--bad-bg:#a3131b;--bad:#fff;\
        --c0:#6cb2ff;--c1:#ff9d5c;--c2:#5fd38a;--c3:#c9a2ff;--c4:#e6c24d;--c5:#ff8cc0;--c6:#4fd3e6;--c7:#b4c0d0}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%}
        body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,\
        "Noto Sans",sans-serif}
        header,main,footer{max-width:1320px;margin:0 auto;padding:0 20px}
        header{padding-top:28px}
        h1{font-size:1.9rem;line-height:1.2;margin:0 0 6px}
        h2{font-size:1.35rem;line-height:1.25;margin:0 0 6px;overflow-wrap:anywhere}
        h3{font-size:1.02rem;margin:0;overflow-wrap:anywhere}
        p{margin:0 0 10px;max-width:75ch;overflow-wrap:anywhere}
        a{color:var(--accent)}
        .machine{font-size:1.05rem;margin:0}
        .scope,footer,figcaption p,.muted{color:var(--soft)}
        nav{display:flex;flex-wrap:wrap;gap:6px 8px;margin:14px 0 4px}
        nav a{padding:5px 12px;border:1px solid var(--line);border-radius:999px;background:var(--card);\
        text-decoration:none;font-size:.9rem;overflow-wrap:anywhere}
        nav a:hover{border-color:var(--accent)}
        :focus-visible{outline:2px solid var(--accent);outline-offset:2px}
        section{margin:30px 0;scroll-margin-top:10px}
        .banner{background:var(--bad-bg);color:var(--bad);border-radius:12px;padding:18px 22px;margin:20px 0}
        .banner .big{font-size:1.5rem;line-height:1.3;font-weight:700;max-width:none}
        .banner p:last-child{margin:0}
        .charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:18px;align-items:start}
        figure,.card{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px}
        figcaption p{font-size:.88rem;margin:2px 0 8px}
        svg{display:block;width:100%;height:auto;font-family:inherit}
        .grid{stroke:var(--grid)}
        .frame{fill:none;stroke:var(--line)}
        .rule{stroke:var(--soft);stroke-dasharray:5 4}
        .tick,text.note,.axis{fill:var(--soft);font-size:12.5px}
        text.note{font-size:12px;font-style:italic}
        .axis{fill:var(--text)}
        .name{fill:var(--text);font-size:13.5px}
        .letter{fill:currentColor;font-size:13px;font-weight:700}
        .letter,text.note{paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}
        .l{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
        .m{fill:currentColor;stroke:var(--card);stroke-width:1}
        .spread{stroke:currentColor;stroke-width:2;opacity:.5}
        .bar{fill:currentColor}
        .c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}\
        .c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}
        .dim{opacity:.14}
        .legend{list-style:none;display:grid;grid-template-columns:repeat(auto-fill,minmax(9.6rem,1fr));gap:4px 6px;\
        margin:10px 0 0;padding:0;font-size:.82rem}
        .legend button,.legend li>.tag{width:100%}
        .legend .swatch{width:30px;min-width:30px}
        .legend button{font:inherit;background:none;color:inherit;cursor:pointer;border:1px solid var(--line);padding:2px 7px;\
        border-radius:8px;text-align:start}
        .legend button[aria-pressed=true]{border-color:var(--accent);background:var(--grid)}
        .tag{display:inline-flex;align-items:center;gap:6px}
        .tag>.id{color:var(--text);min-width:0}
        .legend .id{overflow-wrap:anywhere}
        .swatch{width:36px;min-width:36px;height:14px}
        .scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:12px;margin:12px 0}
        figure .scroll{border-radius:8px}
        table{border-collapse:collapse;width:100%;font-size:.9rem}
        caption{text-align:start;padding:10px 12px;font-weight:600}
        caption span{display:inline-block;position:sticky;inset-inline-start:12px;max-width:calc(100vw - 56px);\
        overflow-wrap:anywhere}
        th,td{padding:7px 10px;text-align:start;vertical-align:top;border-top:1px solid var(--line)}
        thead th{vertical-align:bottom;line-height:1.25;min-width:4.4rem;font-weight:600;color:var(--soft)}
        tbody th{font-weight:400;position:sticky;inset-inline-start:0;background:var(--card);white-space:nowrap;z-index:1}
        td{white-space:nowrap}
        td.n,th.n{text-align:end;font-variant-numeric:tabular-nums}
        td small{display:block;color:var(--soft);font-size:.78rem}
        th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
        th button::after{content:"\u{A0}↕";opacity:.5}
        th[aria-sort=ascending] button::after{content:"\u{A0}↑";opacity:1}
        th[aria-sort=descending] button::after{content:"\u{A0}↓";opacity:1}
        .tall{max-height:80vh;overflow:auto}
        .tall thead th{position:sticky;top:0;background:var(--card);z-index:2;box-shadow:0 1px var(--line)}
        .tall thead th:first-child{inset-inline-start:0;z-index:3}
        details{margin-top:10px}
        summary{cursor:pointer;color:var(--accent);font-size:.9rem}
        .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:16px;align-items:start}
        .card{margin:0}
        .card summary .tag{vertical-align:middle}
        .facts{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:3px 14px;margin:8px 0 0;font-size:.9rem}
        .facts dt{color:var(--soft);overflow-wrap:anywhere}
        .facts dd{margin:0;overflow-wrap:anywhere}
        .warnings{list-style:none;padding:0;margin:10px 0}
        .warnings li{padding:9px 13px;border-radius:10px;margin:6px 0;border:1px solid var(--line);background:var(--card);\
        overflow-wrap:anywhere}
        .warnings .caution{background:var(--warn-bg);color:var(--warn);border-color:currentColor}
        footer{padding-top:10px;padding-bottom:40px;font-size:.85rem}
        @media (max-width:600px){header,main,footer{padding-left:12px;padding-right:12px}h1{font-size:1.6rem}\
        .banner .big{font-size:1.2rem}figure,.card{padding:12px}th,td{padding:6px 9px}tbody th{white-space:normal;min-width:8.2rem;\
        max-width:10rem;overflow-wrap:anywhere}tbody th .swatch{display:none}}
        @media print{nav,summary{display:none}.tall{max-height:none}body{background:#fff}figure,.card,.scroll{break-inside:avoid}}
        """
}
