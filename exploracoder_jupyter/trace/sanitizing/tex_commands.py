r"""The TeX commands that outputs may contain: those that only write symbols and arrange them.

Left out are commands that link or load (`\href`, `\includegraphics`, `\require`), set styles or attributes of elements
(`\style`, `\class`, `\bbox`, `\enclose`, `\mmlToken`), choose a font (`\unicode`), act on a click (`\toggle`), or give
other names to commands (`\def`, `\let`, `\newcommand`), behind which each of these could hide.
"""

from __future__ import annotations

import re
from typing import Final

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
