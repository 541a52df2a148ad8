package api

// IdleSlot, BusySlot and those of the classes are what is in a slot, in [Node.SlotUse].
const (
	IdleSlot  = '.'
	ShortSlot = 's'
	LongSlot  = 'l'
	BusySlot  = 'b' // its class is not reported yet
)

// Signs of the owner of what is in a slot, in addition to the digits and letters that are
// indexes.
const (
	ownerNobody = '-'
	ownerBeyond = '+'
	ownerSigns  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// AppendSlotUse appends one slot to the text of [Node.SlotUse]. use is one of the constants,
// reserved marks a slot that takes only short tasks, and owner is the index of the owner in
// [Node.Owners], below 0 for none.
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
