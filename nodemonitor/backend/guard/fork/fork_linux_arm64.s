#include "textflag.h"

// The offsets are those of Start and Step.

// func run(s *Start)
TEXT ·run(SB), NOSPLIT, $0-8
	MOVD s+0(FP), R19
	MOVD 72(R19), R20     // first
	// Block all signals.
	MOVD 16(R19), R8
	MOVD $2, R0           // SIG_SETMASK
	MOVD R19, R1
	ADD  $8, R19, R2
	MOVD $8, R3
	SVC
	// Start the process.
	MOVD 24(R19), R8
	MOVD 32(R19), R0
	MOVD 40(R19), R1
	MOVD 48(R19), R2
	MOVD 56(R19), R3
	MOVD 64(R19), R4
	SVC
	CBZ  R0, step
	MOVD R0, 80(R19)      // pid
	// Restore the signals of the caller.
	MOVD 16(R19), R8
	MOVD $2, R0
	ADD  $8, R19, R1
	MOVD $0, R2
	MOVD $8, R3
	SVC
	RET

// The process, which has the stack of its caller, and must not use it.
step:
	MOVD 0(R20), R8
	MOVD 8(R20), R0
	MOVD 16(R20), R1
	MOVD 24(R20), R2
	MOVD 32(R20), R3
	MOVD 40(R20), R4
	MOVD 48(R20), R5
	SVC
	MOVD R0, 72(R20)      // Result
	MOVD 56(R20), R1      // Mask
	EOR  R1, R0
	MOVD 64(R20), R1      // Most
	CMP  R1, R0
	BHI  failed
	ADD  $88, R20
	B    step
failed:
	MOVD 80(R20), R20     // Else
	B    step

// func limit(call, resource uintptr, l *[2]uint64) (errno uintptr)
TEXT ·limit(SB), NOSPLIT, $0-32
	MOVD call+0(FP), R8
	MOVD $0, R0
	MOVD resource+8(FP), R1
	MOVD $0, R2
	MOVD l+16(FP), R3
	SVC
	MOVD R0, errno+24(FP)
	RET
