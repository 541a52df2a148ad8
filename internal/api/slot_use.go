package api

// IdleSlot, BusySlot and those of the classes are what is in a slot, in [Node.SlotUse].
const (
	IdleSlot  = '.'
	ShortSlot = 's'
	LongSlot  = 'l'
	BusySlot  = 'b' // its class is not reported yet
)

// Signs of the owner of what is in a slot, beside the digits and letters that are indexes.
const (
	ownerNobody = '-'
	ownerBeyond = '+'
	ownerSigns  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// AppendSlotUse appends one slot to the text of [Node.SlotUse]. use is one of the constants,
// reserved a slot that takes short tasks only, and owner the index in [Node.Owners] of the one
// for whom it runs, below 0 for nobody in particular.
func AppendSlotUse(text []byte, use byte, reserved bool, owner int) []byte {
	switch {
	case reserved && use == IdleSlot:
		use = '_'
	case reserved:
		use -= 'a' - 'A'
	}
	sign := byte(ownerNobody)
	switch {
	case owner >= len(ownerSigns):
		sign = ownerBeyond
	case owner >= 0:
		sign = ownerSigns[owner]
	}
	return append(text, use, sign)
}
