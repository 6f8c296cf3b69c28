package codectest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// field is one value coded as a whole: a number, a flag, a text, or bytes.
type field struct {
	path  string // with the places in lists
	value reflect.Value
	saved bool
}

// fields are all fields below a pointer, filled: every list has two entries, every pointer is set, and no two fields
// are equal, except flags, which are all set. A field's value depends on its path only, so it is unaffected by fields
// of later levels.
type fields struct {
	t       testing.TB
	list    []field
	later   []string
	unsaved map[string]bool // by path without list positions: whether a field of the path was found
	types   map[string]bool // names of the types found
	numbers map[uint32]bool // numbers used as field values
	octets  map[uint32]bool // the same for byte fields
	was     *strings.Replacer
}

func fill(t testing.TB, f Form) *fields {
	fi := &fields{t: t, later: f.Later, unsaved: map[string]bool{}, types: map[string]bool{},
		numbers: map[uint32]bool{}, octets: map[uint32]bool{}, was: strings.NewReplacer(f.Was...)}
	for _, path := range f.Unsaved {
		fi.unsaved[path] = false
	}
	fi.walk("", reflect.ValueOf(f.Of).Elem(), true)
	for path, met := range fi.unsaved {
		if !met {
			t.Errorf("%s has no field %s", f.Name, path)
		}
	}
	return fi
}

// withoutPlaces turns locations[1].Spec into locations.Spec.
func withoutPlaces(path string) string {
	for _, place := range []string{"[0]", "[1]"} {
		path = strings.ReplaceAll(path, place, "")
	}
	return path
}

func (fi *fields) walk(path string, v reflect.Value, saved bool) {
	if v.CanAddr() { // unexported fields are set too
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if slices.Contains(fi.later, withoutPlaces(path)) {
		return
	}
	if _, named := fi.unsaved[withoutPlaces(path)]; named {
		fi.unsaved[withoutPlaces(path)] = true
		saved = false
	}
	name, _, _ := strings.Cut(v.Type().Name(), "[") // without type arguments
	if saved {
		fi.types[name] = true
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			below := v.Type().Field(i).Name
			if path != "" {
				below = path + "." + below
			}
			fi.walk(below, v.Field(i), saved)
		}
	case reflect.Pointer:
		if saved {
			v.Set(reflect.New(v.Type().Elem()))
			fi.walk(path, v.Elem(), saved)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fi.add(path, v, saved)
		} else if saved {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				fi.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), saved)
			}
		}
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fi.add(path, v, saved)
		} else if saved {
			fi.t.Fatalf("%s: an array of %v cannot be filled", path, v.Type().Elem())
		}
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
		if saved {
			fi.t.Fatalf("%s: a %v cannot be filled: say that it is not saved", path, v.Kind())
		}
	default:
		fi.add(path, v, saved)
	}
}

func (fi *fields) add(path string, v reflect.Value, saved bool) {
	path = fi.was.Replace(path)
	if saved {
		taken, most := fi.numbers, uint32(60_000)
		if v.Kind() == reflect.Uint8 {
			taken, most = fi.octets, 250
		}
		n := crc32.ChecksumIEEE([]byte(path)) % most
		for taken[n] {
			n = (n + 1) % most
		}
		taken[n] = true
		set(v, int(n+1))
	}
	fi.list = append(fi.list, field{path, v, saved})
}

// set gives a field the n-th value of its type.
func set(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(n))
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(1000 + n))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(1000 + n))
		if v.Type() == reflect.TypeFor[time.Duration]() { // in milliseconds, as a number would be
			v.SetInt(int64(1000+n) * int64(time.Millisecond))
		}
	case reflect.String:
		v.SetString(fmt.Sprint("t", n))
	case reflect.Slice:
		v.SetBytes(fmt.Append(nil, "b", n))
	default: // byte array
		text := make([]byte, v.Len())
		binary.BigEndian.PutUint16(text, uint16(n))
		reflect.Copy(v, reflect.ValueOf(text))
	}
}

// with calls a function while a field has another value.
func (f *field) with(value reflect.Value, call func()) {
	before := reflect.New(f.value.Type()).Elem()
	before.Set(f.value)
	f.value.Set(value)
	call()
	f.value.Set(before)
}

// other returns a value of the field's type that no field has.
func (f *field) other() reflect.Value {
	v := reflect.New(f.value.Type()).Elem()
	if v.Kind() != reflect.Bool || !f.value.Bool() {
		set(v, 0)
	}
	return v
}

// flags are the saved flags outside later list positions.
func (fi *fields) flags() (list []field) {
	for _, f := range fi.list {
		if f.saved && f.value.Kind() == reflect.Bool && !strings.Contains(f.path, "[1]") {
			list = append(list, f)
		}
	}
	return list
}

// written returns the written bytes, nil if the values make no sense, such as an empty handle.
func written(write func() []byte) (b []byte) {
	defer func() { _ = recover() }()
	return write()
}

// swaps calls a function for all pairs of saved fields of one kind, with swapped values. For two flags, one is cleared.
func (fi *fields) swaps(write func() []byte, call func(a, b *field, before, after []byte)) {
	for i := range fi.list {
		for k := range i {
			a, b := &fi.list[i], &fi.list[k]
			if !a.saved || !b.saved || !a.value.Type().ConvertibleTo(b.value.Type()) ||
				a.value.Kind() != b.value.Kind() {
				continue
			}
			if a.value.Kind() == reflect.Bool {
				a.value.SetBool(false)
			}
			x, y := reflect.ValueOf(a.value.Interface()), reflect.ValueOf(b.value.Interface())
			before := bytes.Clone(write())
			a.value.Set(y.Convert(x.Type()))
			b.value.Set(x.Convert(y.Type()))
			if !reflect.DeepEqual(a.value.Interface(), x.Interface()) { // Form.Adjust may have made them equal
				call(a, b, before, written(write))
			}
			a.value.Set(x)
			b.value.Set(y)
			if a.value.Kind() == reflect.Bool {
				a.value.SetBool(true)
			}
		}
	}
}
