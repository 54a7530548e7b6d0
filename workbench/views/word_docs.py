"""What the words of programs mean: operators, statements of loop programs, instructions of LLVM and of processors.

    word_doc("R.nn.conv2d", "python")        # the operator's own documentation
    word_doc("vfmadd231ps", "asm")           # "multiplies and adds, rounding once; 32-bit floats, a whole register"

This module is a table of texts by key itself, as those of `views.strings` are; the keys are the words.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Final

from ..relay.ir.operator import OPERATORS


def _table(text: str) -> dict[str, str]:
    """Lines "word: what it means" by word."""
    return dict(line.split(": ", 1) for line in text.strip().splitlines())


_LOOPS: Final = _table("""
T.prim_func: a function of loops over buffers
T.Buffer: a parameter: a tensor in memory, with its shape and element type
T.alloc_buffer: a tensor that lives inside of the function; `scope` says where
T.allocate: memory inside of the function, as one row of elements
T.serial: a loop whose iterations run one after another
T.parallel: a loop whose iterations are shared out among threads
T.vectorized: a loop whose iterations run at once, one in each lane of a vector
T.unroll: a loop that is written out: its body stands once for each iteration
T.grid: nested serial loops, the first one outermost
T.block: a statement with the region that it reads and writes, which schedules move as a whole
T.axis.remap: iterators of a block bound to loops: S is a spatial axis, R a reduction axis
T.axis.spatial: an iterator of a block that names an element of its result
T.axis.reduce: an iterator of a block over which it adds up
T.init: what runs before the first step of a reduction
T.reads: the elements that one instance of the block reads
T.writes: the elements that one instance of the block writes
T.block_attr: facts about a block that rules read
T.func_attr: facts about the function
T.ramp: a vector of numbers: first, stride, how many
T.broadcast: a vector that repeats one value
T.float32: a constant of 32-bit floating point
T.if_then_else: one of two values, of which only that one is computed
T.min: the lesser of two values
T.max: the greater of two values
T.where: an instance of the block runs only where this holds
T.evaluate: a call for what it does, not for its value
R.function: a function of the graph; `Primitive` marks one that becomes a kernel
R.constant: a constant tensor, written by the fingerprint of its bytes
R.Tensor: the type of a tensor: its shape and element type
""")
_LLVM: Final = _table("""
define: a function with its body
declare: a function that is defined elsewhere
phi: the value that belongs to the block from which this one was entered
br: goes on at a block, perhaps one of two by a condition
ret: leaves the function
load: reads memory
store: writes memory
alloca: memory on the stack
getelementptr: an address: base and indices, no access to memory
fadd: adds floats
fsub: subtracts floats
fmul: multiplies floats
fdiv: divides floats
fneg: changes the sign of floats
fcmp: compares floats
icmp: compares integers
add: adds integers
sub: subtracts integers
mul: multiplies integers
sdiv: divides signed integers
udiv: divides unsigned integers
srem: remainder of signed integers
urem: remainder of unsigned integers
shl: shifts bits to the left
lshr: shifts bits to the right, zeros in
ashr: shifts bits to the right, keeping the sign
and: both bits
or: either bit
xor: one of the bits
select: one of two values by a condition, without a branch
call: calls a function
insertelement: a vector with one lane replaced
extractelement: one lane of a vector
shufflevector: a vector made of lanes of two others; with zeroinitializer, lane 0 everywhere
sext: widens an integer, keeping its sign
zext: widens an integer with zeros
trunc: narrows an integer
fpext: widens a float
fptrunc: narrows a float
sitofp: signed integer to float
fptosi: float to signed integer
bitcast: the same bits as another type
contract: a product and a sum may be rounded once (fused multiply-add)
nsw: promised not to overflow as a signed number
nuw: promised not to overflow as an unsigned number
inbounds: promised to stay inside of the object
splat: a vector that repeats one value
poison: no value: nothing may depend on it
noalias: reached through no other pointer
llvm.fma: multiplies and adds, rounding once
switch: goes on at one of several blocks
unreachable: never reached
""")
_MACHINE: Final = _table("""
vfmadd: multiplies and adds, rounding once
vfnmadd: multiplies and subtracts the product, rounding once
vfmsub: multiplies and subtracts, rounding once
add: adds
sub: subtracts
mul: multiplies
imul: multiplies signed integers
mulx: multiplies without flags
div: divides
max: the greater one
min: the lesser one
sqrt: the square root
xor: one of the bits; of a register with itself: zero
and: both bits
or: either bit
mov: copies
movaps: copies an aligned vector
movups: copies a vector from or to any address
movss: copies one 32-bit float
movabs: a 64-bit constant
lea: computes an address without reading it
broadcast: fills all lanes with one value
permute: rearranges lanes
perm: rearranges lanes
shuf: rearranges lanes
unpck: interleaves lanes
blend: chooses lane by lane
insert: puts a part into a vector
extract: takes a part out of a vector
gather: reads lanes from many addresses
pxor: one of the bits
zeroupper: clears the upper halves of all vectors, before code for older units runs
cmp: compares, for the jump that follows
test: ands, for the jump that follows
jmp: goes on elsewhere
call: calls a function
ret: leaves the function
push: saves on the stack
pop: takes from the stack
inc: adds one
dec: subtracts one
neg: changes the sign
not: inverts bits
shl: shifts bits to the left
shr: shifts bits to the right, zeros in
sar: shifts bits to the right, keeping the sign
cmov: copies if a condition holds
set: a byte: whether a condition holds
kmov: copies a mask of lanes
prefetch: asks for a line of memory before it is needed
cvt: converts between kinds of numbers
fmla: multiplies and adds, rounding once
fmul: multiplies floats
fadd: adds floats
fmadd: multiplies and adds
ldr: reads memory
ldp: reads two registers from memory
ld1: reads a vector
str: writes memory
stp: writes two registers to memory
st1: writes a vector
dup: fills all lanes with one value
nop: does nothing
rorx: rotates bits
cqto: the sign of rax in all bits of rdx
leave: takes the frame down
""")
_LANES: Final = _table("""
ps: 32-bit floats, a whole register
pd: 64-bit floats, a whole register
ss: one 32-bit float
sd: one 64-bit float
""")
_SIZES: Final = {"b": "8 bits", "w": "16 bits", "l": "32 bits", "q": "64 bits"}
_JUMP: Final = re.compile(r"^(j[a-z]{1,3}|b\.[a-z]{2}|cbn?z)$")
_FORM: Final = re.compile(r"^(vfn?m(?:add|sub))(132|213|231)(ps|pd|ss|sd)$")
_REGISTERS: Final = (
    (re.compile(r"^%zmm\d+$"), "a vector register of 512 bits: 16 floats"),
    (re.compile(r"^%ymm\d+$"), "a vector register of 256 bits: 8 floats"),
    (re.compile(r"^%xmm\d+$"), "a vector register of 128 bits: 4 floats"),
    (re.compile(r"^%k\d$"), "a mask: one bit for each lane"),
    (re.compile(r"^%rsp$"), "the stack's end"),
    (re.compile(r"^%r([a-z]{2}|\d+)$"), "a register of 64 bits"),
    (re.compile(r"^%(e[a-z]{2}|r\d+d)$"), "the lower 32 bits of a register"),
)


def word_doc(word: str, language: str) -> str:
    """What a word means; empty where nothing is known."""
    if language == "llvm":
        return _LLVM.get(word.removeprefix("@").rsplit(".v", 1)[0], "")
    if language == "asm":
        return _machine(word)
    return _LOOPS.get(word, "") or (_operator(word[2:]) if word.startswith("R.") else "")


@cache
def _operator(name: str) -> str:
    """An operator's first lines, and what its attributes are."""
    cls = OPERATORS[name] if name in OPERATORS else None
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ") if cls is not None else ""


@cache
def _machine(word: str) -> str:
    if word.startswith("%"):
        return next((told for shape, told in _REGISTERS if shape.match(word)), "")
    found = _FORM.match(word)
    if found:
        return f"{_MACHINE[found[1]]}; {_LANES[found[3]]}"
    if word == "jmp" or word in _MACHINE:
        return _MACHINE[word]
    if _JUMP.match(word):
        return "goes on elsewhere if the comparison before says so"
    stem = word.removeprefix("v")
    for size, told in (*_LANES.items(), *_SIZES.items()):
        base = stem.removesuffix(size)
        if base != stem and base in _MACHINE:
            return f"{_MACHINE[base]}; {told}"
    known = max((one for one in _MACHINE if len(one) > 2 and stem.startswith(one)), key=len, default="")
    lanes = next((told for size, told in _LANES.items() if stem.endswith(size)), "")
    return f"{_MACHINE[known]}{'; ' + lanes if lanes else ''}" if known else ""
