package policy

import (
	"cmp"
	"reflect"
)

// Forker is implemented by stages that make their own copies. The function Fork copies other stages by reflection.
type Forker interface {
	Fork() Stage
}

// Fork returns an independent copy of a stage. It copies the maps and slices of the stage, and the values of the
// stage's own package to which it points. The copy shares functions, interfaces and values of other packages with the
// stage.
func Fork(s Stage) Stage {
	if f, ok := s.(Forker); ok {
		return f.Fork()
	}
	v := reflect.New(reflect.TypeOf(s)).Elem()
	v.Set(reflect.ValueOf(s))
	if v.Kind() == reflect.Pointer {
		copies{}.own(v, v.Type().Elem().PkgPath())
	}
	return v.Interface().(Stage)
}

// copies holds the copy of what each pointer points to.
type copies map[any]reflect.Value

// own gives a value of a package memory of its own.
func (c copies) own(v reflect.Value, pkg string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() != pkg {
			return
		}
		twin, ok := c[v.Interface()]
		if !ok {
			twin = reflect.New(v.Type().Elem())
			twin.Elem().Set(v.Elem())
			c[v.Interface()] = twin
			c.own(twin.Elem(), pkg)
		}
		v.Set(twin)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i) // also one that is not exported
			c.own(reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), cmp.Or(v.Type().PkgPath(), pkg))
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			c.own(list.Index(i), pkg)
		}
		v.Set(list)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		twin := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			own := reflect.New(value.Type()).Elem()
			own.Set(value)
			c.own(own, pkg)
			twin.SetMapIndex(key, own)
		}
		v.Set(twin)
	}
}
