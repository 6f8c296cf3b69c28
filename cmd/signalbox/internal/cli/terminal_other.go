//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package cli

// terminalSize returns false for every stream, so nothing is coloured, and no question is asked.
func terminalSize(any) (columns, rows int, ok bool) { return 0, 0, false }

// typeUnseen returns nil for every stream.
func typeUnseen(any) (restore func()) { return nil }
