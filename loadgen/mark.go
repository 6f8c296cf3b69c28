package loadgen

import "encoding/binary"

// mark writes a number into the data of a change, so that who sees the data knows which change it was.
func mark(data []byte, n uint64) { binary.BigEndian.PutUint64(data, n) }

// markOf reads it; 0 where there is none.
func markOf(data []byte) uint64 {
	if len(data) < minMark {
		return 0
	}
	return binary.BigEndian.Uint64(data)
}

// marked returns data of a size with a number in it.
func marked(size int, n uint64) []byte {
	data := make([]byte, max(size, minMark))
	mark(data, n)
	return data
}
