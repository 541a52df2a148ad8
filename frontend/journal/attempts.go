package journal

import "fmt"

// A record about the failure of an attempt may be followed by the failure that its node reported:
// the byte of the kind failure, then the length of optional fields, and the fields. Records of
// earlier versions have nothing there.

// describesFailure reports whether a reported failure may follow the record.
func (e *Record) describesFailure() bool {
	return e.Kind == NewAttempt || e.Kind == Lost || e.Kind == TaskReported
}

// failure codes the fields of the reported failure that the record itself does not have.
func (c *coder) failure(e *Record) {
	node, elapsed := e.Node, e.Elapsed
	if e.Kind != NewAttempt {
		node = "" // the record has it
	}
	if e.Kind == TaskReported {
		elapsed = 0 // likewise
	}
	c.optionals(
		optional{1, e.Exit == 0, func(c *coder) { number(c, &e.Exit) }},
		optional{2, e.Code == "", func(c *coder) { text(c, &e.Code) }},
		optional{3, e.Began == 0, func(c *coder) { signed(c, &e.Began) }},
		optional{4, elapsed == 0, func(c *coder) { signed(c, &e.Elapsed) }},
		optional{5, node == "", func(c *coder) { text(c, &e.Node) }},
		optional{6, !e.Apart, func(c *coder) { e.Apart = true }},
	)
}

// appendFailure writes what is known of the failure after its record, if anything is.
func (c *coder) appendFailure(e *Record) {
	if !e.describesFailure() {
		return
	}
	var more coder
	if more.failure(e); len(more.out) == 0 {
		return
	}
	c.out = append(c.out, byte(failure))
	c.bytes(&more.out)
}

// readFailure reads what appendFailure wrote after a record.
func (c *coder) readFailure(e *Record) {
	if !e.describesFailure() {
		c.fail(fmt.Errorf("a record of kind %q is followed by a failure", e.Kind))
		return
	}
	c.in = c.in[1:] // the kind
	var size uint64
	c.uint(&size)
	more := coder{reading: true, in: c.next(size)}
	if more.failure(e); more.err != nil {
		c.fail(more.err)
	}
}
