r"""Sanitizes HTML, Markdown and LaTeX from candidates: nothing may run, load resources or cover the page.

HTML goes through nh3 (an HTML parser with an allow-list). Markdown is rendered as HTML here, because front ends draw
diagrams and maps from fences by their language and load what these name. All of them typeset math: commands outside an
allow-list can fetch (`\style{cursor:url(...)}{x}`), link, or define others that do. HTML with such a command keeps its
formulas as text; LaTeX is rejected. `None` means that the text cannot be made safe, or that nothing visible is left.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from exploracoder_jupyter.text.characters import encodable, with_formulas, without_formulas

# The TeX commands that outputs may contain: those that only write symbols and arrange them.
#
# Left out are commands that link or load (`\href`, `\includegraphics`, `\require`), set styles or attributes of
# elements (`\style`, `\class`, `\bbox`, `\enclose`, `\mmlToken`), choose a font (`\unicode`), act on a click
# (`\toggle`), or give other names to commands (`\def`, `\let`, `\newcommand`), behind which each of these could
# hide.

_COMMAND: Final = re.compile(r"\\(?:([A-Za-z]+)|.)", re.DOTALL)
"""Matches a command. Those of one other character, such as a line break, write that character or a space."""
_FORMULA_START: Final = re.compile(r"\$|\\[(\[]|\\begin\b|\\(?:eq)?ref\b")

_LETTERS = """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi
omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega digamma Gamma Delta Theta Lambda Xi Pi
Sigma Upsilon Phi Psi Omega varGamma varDelta varTheta varLambda varXi varPi varSigma varUpsilon varPhi varPsi
varOmega aleph beth gimel daleth ell hbar hslash imath jmath wp Re Im eth Bbbk mho Finv Game complement"""
_LARGE_OPERATORS = """sum prod coprod int iint iiint iiiint idotsint oint bigcap bigcup bigsqcup bigvee bigwedge
bigodot bigotimes bigoplus biguplus intop smallint limits nolimits"""
_OPERATORS = """pm mp times div ast star circ bullet cdot cdotp cap cup Cap Cup uplus sqcap sqcup vee wedge lor land
setminus smallsetminus wr diamond bigtriangleup bigtriangledown triangleleft triangleright oplus ominus otimes oslash
odot bigcirc dagger ddagger amalg dotplus ltimes rtimes leftthreetimes rightthreetimes barwedge doublebarwedge veebar
curlywedge curlyvee boxplus boxminus boxtimes boxdot centerdot intercal divideontimes circledast circledcirc
circleddash neg lnot surd nabla partial ldotp bmod pmod pod mod"""
_RELATIONS = """leq le geq ge neq ne equiv sim simeq approx cong propto varpropto subset supset subseteq supseteq
Subset Supset sqsubset sqsupset sqsubseteq sqsupseteq in ni owns notin prec succ preceq succeq ll gg lll ggg llless
gggtr asymp doteq doteqdot Doteq models perp mid nmid parallel nparallel bowtie Join smile frown smallsmile smallfrown
vdash dashv vDash Vdash Vvdash nvdash nvDash nVdash nVDash approxeq thicksim thickapprox backsim backsimeq lesssim
gtrsim lessapprox gtrapprox lessdot gtrdot lessgtr gtrless lesseqgtr gtreqless lesseqqgtr gtreqqless leqslant geqslant
eqslantless eqslantgtr leqq geqq subseteqq supseteqq subsetneq supsetneq subsetneqq supsetneqq nsubseteq nsupseteq
nleq ngeq nless ngtr nleqslant ngeqslant nsim ncong nprec nsucc npreceq nsucceq lneq gneq lneqq gneqq lnsim gnsim
triangleq circeq bumpeq Bumpeq eqcirc eqsim fallingdotseq risingdotseq precsim succsim precapprox succapprox
preccurlyeq succcurlyeq curlyeqprec curlyeqsucc trianglelefteq trianglerighteq ntriangleleft ntriangleright
ntrianglelefteq ntrianglerighteq vartriangleleft vartriangleright blacktriangleleft blacktriangleright between
pitchfork therefore because multimap shortmid shortparallel nshortmid nshortparallel backepsilon not colon coloneqq
coloneq eqqcolon"""
_ARROWS = """to gets iff implies impliedby leadsto leftarrow rightarrow Leftarrow Rightarrow leftrightarrow
Leftrightarrow uparrow downarrow Uparrow Downarrow updownarrow Updownarrow longleftarrow longrightarrow Longleftarrow
Longrightarrow longleftrightarrow Longleftrightarrow mapsto longmapsto hookleftarrow hookrightarrow leftharpoonup
leftharpoondown rightharpoonup rightharpoondown rightleftharpoons leftrightharpoons nearrow searrow swarrow nwarrow
xleftarrow xrightarrow nleftarrow nrightarrow nLeftarrow nRightarrow nleftrightarrow nLeftrightarrow leftleftarrows
rightrightarrows leftrightarrows rightleftarrows upuparrows downdownarrows twoheadleftarrow twoheadrightarrow
leftarrowtail rightarrowtail looparrowleft looparrowright curvearrowleft curvearrowright circlearrowleft
circlearrowright Lsh Rsh upharpoonleft upharpoonright downharpoonleft downharpoonright restriction rightsquigarrow
leftrightsquigarrow Lleftarrow Rrightarrow dashleftarrow dashrightarrow"""
_SYMBOLS = """infty forall exists nexists emptyset varnothing top bot angle measuredangle sphericalangle triangle
triangledown square Box Diamond blacksquare blacktriangle blacktriangledown blacklozenge lozenge bigstar prime
backprime dots ldots cdots vdots ddots dotsb dotsc dotsi dotsm dotso flat natural sharp clubsuit diamondsuit heartsuit
spadesuit checkmark maltese degree copyright circledR circledS yen pounds backslash diagup diagdown S P And lq rq"""
_DELIMITERS = """lbrace rbrace lbrack rbrack langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert vert Vert
lgroup rgroup lmoustache rmoustache ulcorner urcorner llcorner lrcorner arrowvert Arrowvert bracevert left right
middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm biggm Biggm"""
_FUNCTIONS = """arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf
limsup ln log max min Pr projlim sec sin sinh sup tan tanh varinjlim varliminf varlimsup varprojlim operatorname"""
_ACCENTS = """hat widehat check tilde widetilde acute grave dot ddot dddot ddddot breve bar vec mathring overline
underline overbrace underbrace overrightarrow overleftarrow overleftrightarrow underrightarrow underleftarrow
underleftrightarrow overset underset stackrel overparen underparen"""
_STRUCTURES = """frac dfrac tfrac cfrac binom dbinom tbinom genfrac sqrt root of over atop choose brace brack begin
end hline hdashline cr newline substack sideset tag notag nonumber intertext shoveleft shoveright cancel bcancel
xcancel cancelto boxed fbox rule phantom hphantom vphantom smash strut mathstrut llap rlap mathllap mathrlap mathclap
bra ket braket Bra Ket Braket ketbra Ketbra set Set ce pu label color textcolor"""
_FONTS = """mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr mathnormal boldsymbol bm pmb rm bf it
sf tt cal mit frak scr Bbb text textrm textbf textit textsf texttt textnormal textup mbox hbox emph mathop mathbin
mathrel mathord mathopen mathclose mathpunct mathinner displaystyle textstyle scriptstyle scriptscriptstyle tiny Tiny
scriptsize small normalsize large Large LARGE huge Huge"""
_SPACES = """quad qquad enspace enskip thinspace medspace thickspace negthinspace negmedspace negthickspace hspace
mspace mskip hskip kern mkern hfill hfil hfilll nobreakspace space displaylines eqalign matrix pmatrix cases"""

_ALL: Final = (
    *(_LETTERS, _LARGE_OPERATORS, _OPERATORS, _RELATIONS, _ARROWS, _SYMBOLS, _DELIMITERS, _FUNCTIONS, _ACCENTS),
    *(_STRUCTURES, _FONTS, _SPACES),
)
_HARMLESS: Final = frozenset(" ".join(_ALL).split())


def is_harmless_tex(text: str) -> bool:
    """Whether all TeX commands in the text are known to be harmless."""
    return all(name in _HARMLESS for name in _COMMAND.findall(text) if name)


def has_acting_formula(text: str) -> bool:
    """Whether a front end would typeset a part of the text, and not all commands in the text are harmless."""
    return _FORMULA_START.search(text) is not None and not is_harmless_tex(text)


_BLOCKS = "address article aside blockquote center details div dl dt dd figcaption figure footer h1 h2 h3 h4 h5 h6"
_BLOCKS += " header hr li main nav ol p pre section summary ul table caption colgroup col thead tbody tfoot tr th td"
_FORMATTING = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
_INLINE = "abbr bdi bdo br cite del dfn img ins kbd mark q rp rt ruby samp span sub sup time var wbr"
_VOID = frozenset(("br", "col", "hr", "img", "wbr"))
_STYLES = """background-color border border-bottom border-bottom-color border-bottom-style border-bottom-width
border-collapse border-color border-left border-right border-spacing border-style border-top border-width color
empty-cells font-family font-size font-style font-variant font-weight height letter-spacing line-height margin-left
max-height max-width min-height min-width padding padding-bottom padding-left padding-right padding-top text-align
text-decoration text-indent text-transform vertical-align white-space width word-break word-wrap"""

_INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+", re.IGNORECASE)
_STYLE_THAT_FETCHES = re.compile(r"url|image|expression|\\|@|element\(", re.IGNORECASE)
_TAG_OR_TEXT = re.compile(r'(<(?:[^">]|"[^"]*")*>)')
_OUTSIDE_IMAGE = re.compile(r'<img(?![^>"]*(?:"[^"]*"[^>"]*)*\ssrc=)(?:[^">]|"[^"]*")*>')
_NO_IMAGE = "<em>[image left out: it is not in the notebook]</em>"
_FORMULA: Final = re.compile(
    r"\$\$.{1,1000}?\$\$|\$(?!\s)[^$\n]+?(?<![\s\\])\$(?!\d)|\\\(.{1,1000}?\\\)|\\\[.{1,1000}?\\\]"
    r"|\\begin\{([a-z]{1,20}\*?)\}.{1,1000}?\\end\{\1\}",
    re.DOTALL,
)
"""Matches a formula. Its length is limited because each opening delimiter triggers a search for its end."""
_MAX_MARKDOWN: Final = 100_000
"""Characters of Markdown that are rendered, because the time grows with the text."""


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if _INLINE_IMAGE.fullmatch(value) else None
    if name == "href":
        return value if value.startswith(("#", "http://", "https://", "mailto:")) else None
    if name == "style":
        return None if _STYLE_THAT_FETCHES.search(value) else value
    return value


_HTML = nh3.Cleaner(
    tags={*_BLOCKS.split(), *_FORMATTING, *_INLINE.split()},
    clean_content_tags={
        "script",
        "style",
        "iframe",
        "object",
        "template",
        "noscript",
        "svg",
        "math",
        "textarea",
        "select",
    },
    attributes={
        "*": {"style", "title", "align", "valign", "dir", "lang"},
        "a": {"href"},
        "img": {"src", "alt", "width", "height"},
        "table": {"border", "cellpadding", "cellspacing"},
        "td": {"colspan", "rowspan", "headers"},
        "th": {"colspan", "rowspan", "scope"},
        "col": {"span"},
        "colgroup": {"span"},
        "ol": {"start", "type"},
        "details": {"open"},
        "font": {"color", "size"},
        "time": {"datetime"},
    },
    attribute_filter=_attribute,
    url_schemes={"http", "https", "mailto", "data"},
    allowed_classes={"table": {"dataframe"}},
    filter_style_properties=set(_STYLES.split()),
    link_rel="noopener noreferrer",
)


def safe_html(text: str) -> str | None:
    """Reduce HTML to allowed tags, attributes, style properties and TeX commands."""
    if _is_too_deep(text):
        return None
    clean = _OUTSIDE_IMAGE.sub(_NO_IMAGE, _HTML.clean(encodable(text)))
    parts = _TAG_OR_TEXT.split(clean)[::2]
    # front ends join what some tags separate, and not what others do
    visible = html.unescape("".join(parts)), html.unescape(" ".join(parts))
    if any(map(has_acting_formula, visible)):
        parts = _TAG_OR_TEXT.split(with_formulas(clean))
        parts[::2] = map(without_formulas, parts[::2])
        clean = "".join(parts)
    return clean if visible[0].strip() or "<img" in clean else None


def safe_markdown(text: str) -> str | None:
    """Render Markdown as HTML; raw HTML in it is shown as text."""
    return safe_html(_parser().render(encodable(text))) if len(text) <= _MAX_MARKDOWN else None


def safe_latex(text: str) -> str | None:
    """Return the LaTeX if all of its commands are known to be harmless."""
    return text if text.strip() and is_harmless_tex(html.unescape(text)) else None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.add_render_rule("formula", _render_formula)
    return parser


def _formula(state: StateInline, silent: bool) -> bool:
    """Parse a formula verbatim, before any of its characters is interpreted as markup."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("formula", "samp", 0).content = html.escape(found[0])
    state.pos = found.end()
    return True


def _render_formula(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    return f"<samp>{tokens[at].content}</samp>"


_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)")


def _is_too_deep(text: str) -> bool:
    """Whether the nesting would make parsing quadratic: 200,000 unclosed `<div>` took minutes, 500 take no time."""
    unclosed: Counter[str] = Counter()
    depth = formatting = 0
    for closing, name in _TAG.findall(re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL).lower()):
        step = -1 if closing else 1
        if name in _VOID or (closing and not unclosed[name]):
            continue
        unclosed[name] += step
        depth += step
        formatting += step if name in _FORMATTING else 0
        if depth > 500 or formatting > 50:
            return True
    return False
