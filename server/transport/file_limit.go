package transport

// connectionLimit is the number of connections that a listener allows when its options do not say: what
// the limit of file descriptors leaves after a quarter of it, at most 4,096, is put aside for the files
// and connections of the rest of the process.
func connectionLimit(descriptors int) int {
	reserve := min(descriptors/4, 4096)
	return max(descriptors-reserve, 1)
}

// assumedFileLimit is taken where the operating system does not tell.
const assumedFileLimit = 16 << 10
