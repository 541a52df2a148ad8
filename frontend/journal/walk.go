package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// The framing of the store's logs: blocks of 32 KiB holding chunks of
//
//	checksum 4 | length 2 | type 1 [ log number 4 [ synced offset 8 ]] | payload
//
// as the store's record package documents it. The store itself stops reading
// silently at the first bad chunk of its newest log, and tells a torn end from a
// damaged middle only across blocks; this walk tells them apart everywhere.
const (
	blockSize    = 32 << 10
	plainHeader  = 7
	logHeader    = 11
	syncedHeader = 19
	chunkTypes   = 4 // full, first, middle, last; three times, for the three headers
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is one valid chunk of a log.
type chunk struct {
	at, end     int
	first, last bool
	plain       bool // its header has no log number and no synced offset
	synced      uint64
	body        []byte
}

// chunkAt reads the chunk that starts at the offset, which must not cross the
// end of a block.
func chunkAt(data []byte, at int, log uint32) (c chunk, ok bool) {
	block := data[at:min(len(data), at-at%blockSize+blockSize)]
	if len(block) < plainHeader || block[6] == 0 || block[6] > 3*chunkTypes {
		return c, false
	}
	header := [...]int{plainHeader, logHeader, syncedHeader}[(block[6]-1)/chunkTypes]
	size := header + int(binary.LittleEndian.Uint16(block[4:]))
	if size > len(block) || header > plainHeader && binary.LittleEndian.Uint32(block[7:]) != log {
		return c, false
	}
	sum := crc32.Checksum(block[6:size], castagnoli)
	if binary.LittleEndian.Uint32(block) != (sum>>15|sum<<17)+0xa282ead8 {
		return c, false
	}
	kind := (block[6] - 1) % chunkTypes
	c = chunk{at: at, end: at + size, first: kind < 2, last: kind == 0 || kind == 3, plain: header == plainHeader, body: block[header:size]}
	if header == syncedHeader {
		c.synced = binary.LittleEndian.Uint64(block[logHeader:])
	}
	return c, true
}

// walk is what was found in one log.
type walk struct {
	records int
	whole   int  // where the last whole record before any fault ends
	fault   int  // where the first bad chunk starts, -1 for none
	junk    bool // what follows the last whole record is not all zero
	proven  bool // something after the fault shows that the faulty bytes had been on the disk
	closed  bool // the log ends with the mark of an orderly close
}

// torn reports whether the log ends in the middle of a record, and in no other way is
// at fault.
func (w *walk) torn() bool { return w.junk && !w.proven }

// walkLog follows the chunks of a log and gives each whole record to visit (which
// may be nil), those behind a fault too. The bytes are valid during the visit.
func walkLog(data []byte, log uint32, visit func(record []byte)) walk {
	w := walk{fault: -1}
	var record []byte
	open := false
	for at := 0; ; {
		at = skipPadding(data, at)
		if at >= len(data) {
			break
		}
		c, ok := chunkAt(data, at, log)
		if !ok {
			if w.fault < 0 && closeMark(data, at, log) {
				w.closed = true
				break
			}
			if w.fault < 0 {
				w.fault = at
			}
			open = false
			if at = nextChunk(data, at+1, log); at < 0 {
				break
			}
			continue
		}
		if w.fault >= 0 && (c.plain || c.synced > uint64(w.fault)) {
			w.proven = true
		}
		if c.first {
			record, open = record[:0], true
		}
		record, at = append(record, c.body...), c.end
		if open && c.last {
			open = false
			if w.fault < 0 {
				w.whole, w.records = at, w.records+1
			}
			if visit != nil {
				visit(record)
			}
		}
	}
	w.junk = !w.closed && !zero(data[w.whole:])
	return w
}

// skipPadding passes the zeros at the end of a block that no chunk fits in.
func skipPadding(data []byte, at int) int {
	left := blockSize - at%blockSize
	if left < syncedHeader && at < len(data) && zero(data[at:min(len(data), at+left)]) {
		return at + left
	}
	return at
}

// closeMark recognises the bare header that an orderly close leaves: no
// checksum, no length, and the number of the next log.
func closeMark(data []byte, at int, log uint32) bool {
	b := data[at:]
	return len(b) >= logHeader && zero(b[:6]) && b[6] > chunkTypes && binary.LittleEndian.Uint32(b[plainHeader:]) == log+1
}

// nextChunk looks for the next valid chunk byte by byte, -1 when there is none.
func nextChunk(data []byte, at int, log uint32) int {
	for ; at+plainHeader <= len(data); at++ {
		if data[at+6] == 0 || data[at+6] > 3*chunkTypes {
			continue
		}
		if c, ok := chunkAt(data, at, log); ok && (len(c.body) > 0 || !c.plain) {
			return at
		}
	}
	return -1
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
