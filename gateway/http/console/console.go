// Package console has the web console: plain modules and one stylesheet, without a build step and without external
// files. The pages use the HTTP API only.
//
// Start at files/main.js, which shows a page, and files/pages.js, which has one object for each.
package console

import (
	"embed"
	"io/fs"
)

// embedded has the files of the folder files.
//
//go:embed files
var embedded embed.FS

// Files are what is served at the top of the HTTP API's address.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic("the files of the console are not there: " + err.Error()) // they are embedded
	}
	return files
}

// Palette is the style that pages share with the console: colours of both themes, sizes and fonts. It is embedded.
func Palette() string {
	text, err := fs.ReadFile(Files(), "palette.css")
	if err != nil {
		panic("the palette of the console is not there: " + err.Error()) // it is embedded
	}
	return string(text)
}
