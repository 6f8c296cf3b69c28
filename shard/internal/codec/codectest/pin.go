// Package codectest pins the encoding of logs and snapshots in tests: a moved or missing field fails the test. Start
// with Check.
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

// Form is an encoding used in logs or snapshots.
type Form struct {
	// Name is the prefix of its line in the pin file.
	Name string
	// Of points to the written value. Check sets all of its fields.
	Of any
	// Write returns the bytes.
	Write func() []byte
	// Unsaved are the fields that are not encoded, each as its path from Of, without list positions.
	Unsaved []string
	// Was has pairs of texts in field paths: current, and when the form was pinned. A renamed field keeps its value,
	// and so its bytes.
	Was []string
	// Later are fields that are zero at the form's level, whatever value is written.
	Later []string
	// Adjust, if not nil, is called after the fields are set. It changes fields that control the encoding of others.
	Adjust func()
}

// Check compares the bytes of forms with a pin file. All fields are set, to distinct values per type; each flag is
// cleared once. Check fails if a form has no pin, a field is unexpectedly missing in the bytes or present, swapping two
// fields does not change the bytes, or a type in the working directory's package is coded by a form.Coder and has no
// form. Pins are created with -pin.write and never change.
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

// faults lists fields unexpectedly missing in the bytes or present, and fields that can be swapped.
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

// codedTypes returns the types in the working directory's package with a method that codes the fields.
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

// isCode reports whether a method writes or reads fields: by its name, and its form.Coder.
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
