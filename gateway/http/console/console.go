// Package console has the web console: plain modules and one stylesheet, without a build step and without external
// files. The pages use only the HTTP API.
//
// Start at files/main.js, which shows a page, and files/pages.js, which has one object per page.
package console

import (
	"embed"
	"io/fs"
)

// embedded contains the folder files.
//
//go:embed files
var embedded embed.FS

// Files returns the files served at the root of the HTTP API's address.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic("the files of the console are not there: " + err.Error()) // they are embedded
	}
	return files
}

// Palette returns the embedded stylesheet that pages share with the console: colours for both themes, sizes and fonts.
func Palette() string {
	text, err := fs.ReadFile(Files(), "palette.css")
	if err != nil {
		panic("the palette of the console is not there: " + err.Error()) // it is embedded
	}
	return string(text)
}
