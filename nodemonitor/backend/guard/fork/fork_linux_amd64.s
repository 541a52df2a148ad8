#include "textflag.h"

// The offsets are those of Start and Step.

// func run(s *Start)
TEXT ·run(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), BX
	MOVQ 72(BX), R12      // first
	// Block all signals.
	MOVQ 16(BX), AX
	MOVQ $2, DI           // SIG_SETMASK
	LEAQ 0(BX), SI
	LEAQ 8(BX), DX
	MOVQ $8, R10
	SYSCALL
	// Start the process.
	MOVQ 24(BX), AX
	MOVQ 32(BX), DI
	MOVQ 40(BX), SI
	MOVQ 48(BX), DX
	MOVQ 56(BX), R10
	MOVQ 64(BX), R8
	SYSCALL
	TESTQ AX, AX
	JEQ step
	MOVQ AX, 80(BX)       // pid
	// Restore the signals of the caller.
	MOVQ 16(BX), AX
	MOVQ $2, DI
	LEAQ 8(BX), SI
	MOVQ $0, DX
	MOVQ $8, R10
	SYSCALL
	RET

// The process, which has the stack of its caller, and must not use it.
step:
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	SYSCALL
	MOVQ AX, 72(R12)      // Result
	XORQ 56(R12), AX      // Mask
	CMPQ AX, 64(R12)      // Most
	JHI  failed
	ADDQ $88, R12
	JMP  step
failed:
	MOVQ 80(R12), R12     // Else
	JMP  step

// func limit(call, resource uintptr, l *[2]uint64) (errno uintptr)
TEXT ·limit(SB), NOSPLIT, $0-32
	MOVQ call+0(FP), AX
	MOVQ $0, DI
	MOVQ resource+8(FP), SI
	MOVQ $0, DX
	MOVQ l+16(FP), R10
	SYSCALL
	MOVQ AX, errno+24(FP)
	RET
