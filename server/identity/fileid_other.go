//go:build !linux

package identity

import "os"

// identifyFile returns a zero id: nothing is known about lasting ids on other operating systems.
func identifyFile(*os.File) (fileID, error) { return fileID{}, nil }
