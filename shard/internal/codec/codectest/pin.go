// Package codectest pins the encoding of logs and snapshots in tests: a field that moves or is missing fails the test.
// Start with Check.
package codectest

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var writePins = flag.Bool("pin.write", false, "pin the forms that have no pin yet; a pin that is there stays")

// Form is something that stands in logs or snapshots.
type Form struct {
	// Name is what its line in the file of pins begins with.
	Name string
	// Of points to what is written. Check gives all of its fields values.
	Of any
	// Write returns the bytes.
	Write func() []byte
	// Unsaved are the fields that are not in the bytes, each as its path from Of on, without places in lists.
	Unsaved []string
	// Was has pairs of texts in the paths of fields: now, and when the form was pinned. A field that got another name
	// keeps its value, and so its bytes.
	Was []string
	// Later are fields that are zero at the level of the form, whatever is written of other values.
	Later []string
	// Adjust, if it is not nil, is called when the fields have values. It changes fields that say what else is written.
	Adjust func()
}

// Check compares the bytes of forms with those that a file has. All fields are set, no two of a type alike; each flag
// is unset once. It fails where a form has no pin, where a field is not in the bytes though it should be, or is though
// it should not, where bytes stay as they are when two fields change places, and where the package in the working
// directory has a type that a form.Coder codes and no form has. A pin is made with -pin.write and never changes.
func Check(t testing.TB, file string, forms ...Form) {
	t.Helper()
	pins, err := readPins(file)
	if err != nil {
		t.Fatal(err)
	}
	var fresh []string
	compare := func(name string, got []byte) {
		want, pinned := pins[name]
		delete(pins, name)
		switch line := fmt.Sprintf("%x", got); {
		case !pinned && *writePins:
			fresh = append(fresh, name+": "+line)
		case !pinned:
			t.Errorf("%s is not pinned: run the test with -pin.write", name)
		case line != want:
			t.Errorf("%s has other bytes than it ever had: logs and snapshots have the ones before.\nnow  %s\npin  %s",
				name, line, want)
		}
	}
	covered := map[string]bool{}
	for _, f := range forms {
		all := fill(t, f)
		maps.Copy(covered, all.types)
		if f.Adjust != nil {
			f.Adjust()
		}
		for _, wrong := range all.faults(f.Write) {
			t.Errorf("%s: %s", f.Name, wrong)
		}
		compare(f.Name, f.Write())
		for _, flag := range all.flags() {
			flag.with(flag.other(), func() { compare(f.Name+" without "+flag.path, f.Write()) })
		}
	}
	for name := range pins {
		t.Errorf("%s is pinned in %s, and no form any more: logs and snapshots may have it", name, file)
	}
	for _, name := range codedTypes(t) {
		if !covered[name] {
			t.Errorf("%s is coded, and in no form that is pinned", name)
		}
	}
	if err := appendPins(file, fresh); err != nil {
		t.Fatal(err)
	}
}

// faults says which fields the bytes do not show, or show though they should not, and which can change places.
func (fi *fields) faults(write func() []byte) (list []string) {
	whole := bytes.Clone(write())
	for _, f := range fi.list {
		f.with(f.other(), func() {
			switch now := written(write); {
			case f.saved && bytes.Equal(now, whole):
				list = append(list, f.path+" is not in the bytes")
			case !f.saved && now != nil && !bytes.Equal(now, whole):
				list = append(list, f.path+" is in the bytes, and is said not to be")
			}
		})
	}
	fi.swaps(write, func(a, b *field, before, after []byte) {
		if bytes.Equal(before, after) {
			list = append(list, fmt.Sprintf("%s and %s can change places", a.path, b.path))
		}
	})
	return list
}

func readPins(file string) (map[string]string, error) {
	pins := map[string]string{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && *writePins {
		return pins, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, pin, ok := strings.Cut(lines.Text(), ": ")
		if _, twice := pins[name]; !ok || twice {
			return nil, fmt.Errorf("%s: the line of %s is none, or is there twice", file, name)
		}
		pins[name] = pin
	}
	return pins, lines.Err()
}

func appendPins(file string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, strings.Join(lines, "\n"))
	return errors.Join(err, out.Close())
}

// codedTypes returns the types of the package in the working directory of which a method codes the fields.
func codedTypes(t testing.TB) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && isCode(f) {
				names = append(names, receiver(f.Recv.List[0].Type))
			}
		}
	}
	return names
}

// isCode reports whether a method is one that writes fields or reads them: it is named so, and has a form.Coder.
func isCode(f *ast.FuncDecl) bool {
	if !strings.HasPrefix(strings.ToLower(f.Name.Name), "code") || f.Type.Params.NumFields() == 0 {
		return false
	}
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	of, ok := star.X.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Coder"
}

func receiver(of ast.Expr) string {
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name
}
