package journal

// Optional fields follow all others of a value: for each its number, the length of its
// bytes, and its bytes. A value without them ends before, so this program reads the values
// of one that did not know them; a field with the zero value is left out. Numbers are
// never used twice, and a reader skips those that it does not know.

// optional is one such field.
type optional struct {
	number uint64
	isZero bool
	code   func(c *coder)
}

// optionals codes the fields that may follow, which are given in the order of their
// numbers.
func (c *coder) optionals(fields ...optional) {
	if c.reading {
		c.readOptionals(fields)
		return
	}
	for _, f := range fields {
		if f.isZero {
			continue
		}
		var value coder
		f.code(&value)
		c.uint(&f.number)
		c.bytes(&value.out)
	}
}

func (c *coder) readOptionals(fields []optional) {
	for c.in != "" {
		var number, size uint64
		c.uint(&number)
		c.uint(&size)
		value := coder{reading: true, in: c.next(size)}
		for _, f := range fields {
			if f.number == number {
				f.code(&value)
				break
			}
			if f.number > number {
				break
			}
		}
		if value.err != nil {
			c.fail(value.err)
		}
	}
}
