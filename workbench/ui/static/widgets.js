var m,Me,kt,E,ce,Q,He,X,Ve,pe,ue,yt,I=Symbol.for("pv"),ee={},te=[],$t=/^m(i|n|o|s|text|space)$/,fe=Array.isArray,be=te.slice,L=Object.assign;function V(e){e&&e.parentNode&&e.remove()}function Le(e,t,n){var o,r,i,s={},a=arguments.length;for(i in t)i=="key"?o=t[i]:i=="ref"&&typeof e!="function"?r=t[i]:s[i]=t[i];return a>2&&(s.children=a>3?be.call(arguments,2):n),D(e,s,o,r,null)}function D(e,t,n,o,r){var i={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:I,__v:r||++Me,__i:-1,__u:0};return!r&&m.vnode&&m.vnode(i),i}function ne(e){return e.children}function J(e,t){this.props=e,this.context=t,this.__g=0}function R(e,t){if(t==null)return e.__&&R(e.__,e.__i+1);for(var n;t<e.__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:R(e)}function St(e){var t,n=e.__v,o=n.__e,r=[],i=[],s=e.__P;s&&((t=L({constructor:I},n)).__v=n.__v+1,m.vnode&&m.vnode(t),he(s,t,n,e.__n,s.namespaceURI,32&n.__u?[o]:null,r,o||R(n),32&n.__u,i),t.__v=n.__v,t.__.__k[t.__i]=t,Oe(r,t,i),n.__=n.__e=null,t.__e!=o&&Ne(t))}function Ne(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),Ne(e)}function Ee(e){(8&e.__g||(e.__g|=8,E.push(e),Q++))&&ce==m.debounceRendering||((ce=m.debounceRendering)||queueMicrotask)(je)}function je(){try{for(var e,t=1;E.length;)E.length>t&&E.sort(He),e=E.shift(),t=E.length,8&e.__g&&St(e)}finally{(Q=E.length)&&(ce||queueMicrotask)(je)}}function De(e,t,n,o,r,i,s,a,l,p,u){var h,b,d,f,x,w,g=o.__k||te,_=t.length;for(l=Pt(n,t,g,l,_),h=0;h<_;h++)(d=n.__k[h])!=null&&(b=~d.__i&&g[d.__i]||ee,d.__i=h,w=he(e,d,b,r,i,s,a,l,p,u),f=d.__e,(b.ref!=d.ref||8&b.__u)&&(b.ref&&_e(b.ref,null,d,b),d.ref&&u.push(d.ref,d.__c||f,d)),x=x||f,4&d.__u?(l=Ie(d,l,e,!b.__v),b.__e&&(b.__e=null)):typeof d.type=="function"&&w!==void 0?l=w:f&&(l=f.nextSibling),d.__u&=-21);return n.__e=x,l}function Pt(e,t,n,o,r){var i,s,a,l,p,u,h,b,d,f=n.length,x=f,w=0,g=0,_=e.__k=Array(r);for(i=0;i<r;i++)(s=t[i])!=null&&typeof s!="boolean"&&typeof s!="function"?(typeof s!="object"||s.constructor===String?s=_[i]=D(null,s):fe(s)?s=_[i]=D(ne,{children:s}):s.constructor===I&&s.__b?s=_[i]=D(s.type,s.props,s.key,s.ref,s.__v):_[i]=s,l=i+w,s.__=e,s.__b=e.__b+1,a=null,~(p=s.__i=Ct(s,n,l,x))&&(x--,(a=n[p])&&(a.__u|=2)),a&&a.__v?(s.__u|=16,p==l-1?w--:p==l+1?w++:p!=l&&(p>l?w--:w++,g=1)):(~p||(r>f?w--:r<f&&w++),typeof s.type!="function"&&(s.__u|=4))):_[i]=null;if(g){for(u=[],h=[],i=0;i<r;i++)if((s=_[i])&&16&s.__u){for(w=0,b=u.length;w<b;)u[d=w+b>>1]<s.__i?w=d+1:b=d;u[w]=s.__i,h[i]=w+1}for(w=u.length;i--;)h[i]&&(h[i]==w?w--:_[i].__u|=4)}if(x)for(i=0;i<f;i++)!(a=n[i])||2&a.__u||(a.__e==o&&(o=R(a)),we(a,a));return o}function Ie(e,t,n,o){var r,i,s,a;if(typeof e.type=="function"){if(e.props.__P)return t;if(r=e.__k)for(i=0;i<r.length;i++)r[i]&&(r[i].__=e,t=Ie(r[i],t,n,!1));return t}for(t&&!t.parentNode&&(t=R(e))&&!t.parentNode&&(t=null),s=e.__e,a=t;a&&a.nodeType==8;)a=a.nextSibling;for(s!=a&&(!o&&n.moveBefore&&s.parentNode?n.moveBefore(s,t):n.insertBefore(s,t||null)),t=s;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith("$s"););return t}function Ct(e,t,n,o){var r,i=e.key,s=e.type,a=t[n],l=a&&!(2&a.__u);if(a===null&&i==null||l&&i==a.key&&s==a.type)return n;if(o>(l?1:0)){for(r=n-1;r>=0;r--)if((a=t[r])&&!(2&a.__u)&&i==a.key&&s==a.type)return r;for(r=n+1;r<t.length;r++)if((a=t[r])&&!(2&a.__u)&&i==a.key&&s==a.type)return r}return-1}function Re(e,t,n){n==null&&(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function Z(e,t,n,o,r){var i,s;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||Re(e.style,t);if(n)for(t in n)o&&n[t]==o[t]||Re(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),typeof o!="function"&&(o=null),(e.__e||(e.__e={}))[t]=n,n&&o||(s=ue[t]||(ue[t]=Tt(t)),(e.__a||(e.__a={}))[t]=pe,i=t!=(t=t.replace(Ve,"$1")),(t=t.slice(2))[0]<"a"&&(t=t.toLowerCase()),n?e.addEventListener(t,s,i):e.removeEventListener(t,s,i));else{if(r=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function Tt(e){return function(t){var n=this.__e;if(n){if(n=n[e],t[X]==null)t[X]=pe++;else if(t[X]<this.__a[e])return;return n(m.event?m.event(t):t)}}}function he(e,t,n,o,r,i,s,a,l,p){var u,h,b,d,f,x,w,g,_,$,v,de,Ce,G,M,Te,T,H,C=t.type;if(t.constructor!==I)return null;128&n.__u&&(l=32&n.__u,u=n.__c.__z)&&(t.__u|=l,h=i=[],u.nodeType==8?a=Y(u,i):i.push(u),a=i[0]||a),(u=m.__b)&&u(t);e:if(typeof C=="function"){b=s.length;try{if(g=t.props,_=(u=C.prototype)&&u.render,$=(u=C.contextType)&&o[u.__c],v=u?$?$.props.value:u.__:o,(d=n.__c)?(t.__c=d,2&d.__g&&(d.__g|=1)):(_?t.__c=d=new C(g,v):(t.__c=d=new J(g,v),d.constructor=C,d.render=Rt),$&&$.sub(d),d.state||(d.state={}),d.__n=o,d.__g|=8,d.__h=[],d.__k=[]),_&&(d.__s||(d.__s=d.state),C.getDerivedStateFromProps&&(d.__s==d.state&&(d.__s=L({},d.__s)),L(d.__s,C.getDerivedStateFromProps(g,d.__s)))),f=d.props,x=d.state,d.__v=t,n.__c){if(g!==f&&_&&!C.getDerivedStateFromProps&&d.componentWillReceiveProps&&d.componentWillReceiveProps(g,v),t.__v==n.__v&&!(8&d.__g)||!(4&d.__g)&&d.shouldComponentUpdate&&d.shouldComponentUpdate(g,d.__s,v)===!1){t.__v!=n.__v&&(d.props=g,d.state=d.__s,d.__g&=-9),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(S){S&&(S.__=t)}),te.push.apply(d.__h,d.__k),d.__k=[],d.__h.length&&s.push(d),a=R(n);break e}d.componentWillUpdate&&d.componentWillUpdate(g,d.__s,v),_&&d.componentDidUpdate&&d.__h.push(function(){d.componentDidUpdate(f,x,w)})}else _&&!C.getDerivedStateFromProps&&d.componentWillMount&&d.componentWillMount(),_&&d.componentDidMount&&d.__h.push(d.componentDidMount);d.context=v,d.props=g,d.__P=e,d.__g&=-5,de=m.__r,Ce=_?25:0;do d.__g&=-9,de&&de(t),u=d.render(d.props,d.state=d.__s,d.context);while(8&d.__g&&++Ce<25);_&&(te.push.apply(d.__h,d.__k),d.__k=[]),d.state=d.__s,d.getChildContext&&(o=L({},o,d.getChildContext())),_&&n.__c&&d.getSnapshotBeforeUpdate&&(w=d.getSnapshotBeforeUpdate(f,x)),G=u&&u.type===ne&&u.key==null?u.props.children:u,g.__P&&(u=a,r=(e=g.__P).namespaceURI,l=i=null,n.props&&n.props.__P!=e&&(n.__k.some(function(S){S&&we(S,S)}),n.__k=null),a=n.__k?R(n,0):null),a=De(e,fe(G)?G:[G],t,n,o,r,i,s,a,l,p),g.__P&&(t.__e=null,a=u),t.__u&=-161,h&&h.some(V),d.__h.length&&s.push(d),1&d.__g&&(d.__g&=-4)}catch(S){if(s.length=b,t.__v=null,l||i)if(S&&S.then){if(t.__u|=128|l,i){for(~(T=i.indexOf(a||void 0))||(T=i.length);(H=i[T-1])&&H.nodeType==8;)T--;for(;T<i.length;T++)if(H=i[T])if(i[T]=null,M){if(H==Te)break}else{if(H.nodeType!=8)break;H.data.startsWith("$s")&&(Te=Y(M=H))}}if(!M){for(;a&&a.nodeType==8&&a.nextSibling;)a=a.nextSibling;M=a}(u=Y(M=t.__c.__z||(t.__c.__z=M)))?(t.__e=M,a=u):t.__e=a,a=a&&a.nextSibling}else i&&i.some(V);else t.__e=n.__e;t.__k||(t.__k=n.__k||[]),S&&S.then||Ae(t),m.__e(S,t,n)}}else a=t.__e=Et(n.__e,t,n,o,r,i,s,l,p,e);return(u=m.diffed)&&u(t),a}function Y(e,t){if(e&&e.nodeType==8&&e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(e)}}function Ae(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(Ae))}function Oe(e,t,n){for(var o=0;o<n.length;)_e(n[o++],n[o++],n[o++]);m.__c&&m.__c(t,e),e.some(function(r){try{e=r.__h,r.__h=[],e.some(function(i){i.call(r)})}catch(i){m.__e(i,r.__v)}})}function Et(e,t,n,o,r,i,s,a,l,p){var u,h,b,d,f,x,w,g,_=n.props||ee,$=t.props,v=t.type;if(v=="svg"?r="http://www.w3.org/2000/svg":v=="math"?r="http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),i){for(u=0;u<i.length;u++)if((f=i[u])&&(v?f.localName==v:f.nodeType==3)){e=f,i[u]=null;break}}if(!e){if(g=p.ownerDocument||document,!v)return g.createTextNode($);e=g.createElementNS(r,v,$.is?$:p),a&&(m.__m&&m.__m(t,i),a=!1),i=null}if(v){if(p=v=="template"&&e.content||e,i=v=="textarea"&&$.defaultValue!=null?null:i&&be.call(p.childNodes),!a&&i)for(_={},u=0;u<e.attributes.length;u++)_[(f=e.attributes[u]).name]=f.value;for(u in _)f=_[u],u=="dangerouslySetInnerHTML"?b=f:u=="children"||u in $||u=="value"&&"defaultValue"in $||u=="checked"&&"defaultChecked"in $||Z(e,u,null,f,r);for(u in $)f=$[u],u=="children"?d=f:u=="dangerouslySetInnerHTML"?h=f:u=="value"?x=f:u=="checked"?w=f:a&&typeof f!="function"||_[u]===f||Z(e,u,f,_[u],r);h?(a||b&&(h.__html==b.__html||h.__html==e.innerHTML)||(e.innerHTML=h.__html),t.__k=[]):(b&&(e.textContent=""),(v=="foreignObject"||r=="http://www.w3.org/1998/Math/MathML"&&$t.test(v))&&(r="http://www.w3.org/1999/xhtml"),De(p,fe(d)?d:[d],t,n,o,r,i,s,i?i[0]:n.__k&&R(n,0),a,l),i&&i.some(V)),a&&v!="textarea"||(u="value",v=="progress"&&x==null?e.removeAttribute(u):x==null||x===e[u]&&(v!="progress"||x)||Z(e,u,x,_[u],r),u="checked",w!=null&&w!=e[u]&&Z(e,u,w,_[u],r))}else _===$||a&&e.data==$||(e.data=$);return e}function _e(e,t,n,o){try{typeof e=="function"?t?t.__x=e(t)||1:o&&(o=o.__c||o.__e)&&(t=o.__x)&&(o.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(r){m.__e(r,n)}}function we(e,t,n){var o,r,i,s;if(m.unmount&&m.unmount(e),!(o=e.ref)||o.current&&o.current!=e.__e||_e(o,null,t,e),o=e.__c){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(a){m.__e(a,t)}o.__P=o.__n=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&we(o[s],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(o=e.__c)&&(o=o.__z)&&(r=Y(o,i=[]))&&(o==e.__e&&i.some(V),V(r),V(o)),n||V(e.__e),e.__e=e.__c=e.__=null}function Rt(e,t,n){return this.constructor(e,n)}function me(e,t){var n,o,r,i;m.__&&m.__(e,t),t.nodeType==9&&(t=t.documentElement),o=(n=e&&32&e.__u)?null:t.__k,t.__k=D(ne,{children:[e]}),r=[],i=[],he(t,t.__k,o||ee,ee,t.namespaceURI,o?null:t.firstChild?be.call(t.childNodes):null,r,o?o.__e:t.firstChild,n,i),Oe(r,t.__k,i),t.__k.props.children=null}m={__e:function(e,t,n,o){for(var r,i,s;t=t.__;)if((r=t.__c)&&!(1&r.__g)){r.__g|=4;try{if((s=(i=r.constructor)&&i.getDerivedStateFromError)&&r.setState(i.getDerivedStateFromError(e)),r.componentDidCatch&&(r.componentDidCatch(e,o||{}),s=1),s&&8&r.__g)return void(r.__g|=2)}catch(a){e=a}}throw Q=0,e}},Me=0,kt=function(e){return e!=null&&e.constructor===I},J.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=L({},this.state)),typeof e=="function"&&(e=e(L({},n),this.props)),e&&(L(n,e),this.__v&&(t&&this.__k.push(t),Ee(this)))},J.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),Ee(this))},J.prototype.render=ne,E=[],Q=0,He=function(e,t){return e.__v.__b-t.__v.__b},X=Symbol(),Ve=/(PointerCapture)$|Capture$/i,pe=0,ue={},yt=0;var ze=function(e,t,n,o){var r;t[0]=0;for(var i=1;i<t.length;i++){var s=t[i++],a=t[i]?(t[0]|=s?1:2,n[t[i++]]):t[++i];s===3?o[0]=a:s===4?o[1]=Object.assign(o[1]||{},a):s===5?(o[1]=o[1]||{})[t[++i]]=a:s===6?o[1][t[++i]]+=a+"":s?(r=e.apply(a,ze(e,a,n,["",null])),o.push(r),a[0]?t[0]|=2:(t[i-2]=0,t[i]=r)):o.push(a)}return o},Fe=new Map;function Ke(e){var t=Fe.get(this);return t||(t=new Map,Fe.set(this,t)),(t=ze(this,t.get(e)||(t.set(e,t=(function(n){for(var o,r,i=1,s="",a="",l=[0],p=function(b){i===1&&(b||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?l.push(0,b,s):i===3&&(b||s)?(l.push(3,b,s),i=2):i===2&&s==="..."&&b?l.push(4,b,0):i===2&&s&&!b?l.push(5,0,!0,s):i>=5&&((s||!b&&i===5)&&(l.push(i,0,s,r),i=6),b&&(l.push(i,b,0,r),i=6)),s=""},u=0;u<n.length;u++){u&&(i===1&&p(),p(u));for(var h=0;h<n[u].length;h++)o=n[u][h],i===1?o==="<"?(p(),l=[l],i=3):s+=o:i===4?s==="--"&&o===">"?(i=1,s=""):s=o+s[0]:a?o===a?a="":s+=o:o==='"'||o==="'"?a=o:o===">"?(p(),i=1):i&&(o==="="?(i=5,r=s,s=""):o==="/"&&(i<5||n[u][h+1]===">")?(p(),i===3&&(l=l[0]),i=l,(l=l[0]).push(2,0,i),i=0):o===" "||o==="	"||o===`
`||o==="\r"?(p(),i=2):s+=o),i===3&&s==="!--"&&(i=4,l=l[0])}return p(),l})(e)),t),arguments,[])).length>1?t:t[0]}var c=Ke.bind(Le);function P(e,t){return`${e.toLocaleString("en")} ${t}${e===1?"":"s"}`}function A(e){return e>=1e3?`${(e/1e3).toFixed(2)} s`:e>=10?`${e.toFixed(0)} ms`:e>=.1?`${e.toFixed(1)} ms`:`${(e*1e3).toFixed(0)} µs`}function O({error:e,close:t}){let n=["where","found","expected","fix","kept"].filter(o=>e[o]);return c`<div class="wb-problem" role="alert">
    <div class="wb-problem-head">
      <span class="wb-code">${e.code}</span><span>${e.message}</span>
      ${t&&c`<button class="wb-icon" aria-label="Close the message" title="Close" onClick=${t}>×</button>`}
    </div>
    <dl>${n.map(o=>c`<dt>${o}</dt><dd>${e[o]}</dd>`)}</dl>
  </div>`}function oe({rows:e,close:t}){return c`<div class="wb-sheet" role="dialog" aria-label="Keys">
    <div class="wb-sheet-head"><strong>Keys</strong>
      <button class="wb-icon" aria-label="Close" onClick=${t}>×</button></div>
    <dl>${e.map(([n,o])=>c`<dt>${n.split(" ").map(r=>c`<kbd>${r}</kbd>`)}</dt><dd>${o}</dd>`)}</dl>
  </div>`}var z,y,ge,Ue,ve=Object.is,xe=0,Qe=[],ke=[],k=m,We=k.__b,Be=k.__r,qe=k.diffed,Ge=k.__c,Ze=k.unmount,Xe=k.__;function $e(e,t){k.__h&&k.__h(y,e,xe||t),xe=0;var n=y.__H||(y.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function et(e,t,n){var o=$e(z++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):Lt(void 0,t),function(i){var s=(o.__N||o.__)[0],a=o.t(s,i);ve(s,a)||(o.__N=[a,o.__[1]],o.__c.setState({}))}],o.__c=y,!y.__f)){y.__f=!0;var r=y.shouldComponentUpdate;y.shouldComponentUpdate=function(i,s,a){var l=this.__H;if(!l)return!0;var p=!1,u=this.props!=i;if(l.__.some(function(b){b.__N&&(p=!0,ve(b.__[0],b.__N[0])||(u=!0))}),r){var h=r.call(this,i,s,a);return p?h||u:h}return!p||u}}return o.__}function N(e,t){var n=$e(z++,3);!k.__s&&tt(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,y.__H.__h.push(n))}function K(e){return xe=5,Mt(function(){return{current:e}},[])}function Mt(e,t){var n=$e(z++,7);return tt(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function Ht(){var e;do{for(;e=ke.shift();)try{F(e)}catch(n){k.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=Qe.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(F),t.__h.some(ye),t.__h=[]}catch(n){t.__h=[],k.__e(n,e.__v)}}}while(ke.length)}k.__b=function(e){y=null,We&&We(e)},k.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Xe&&Xe(e,t)},k.__r=function(e){Be&&Be(e),z=0;var t=(y=e.__c).__H;t&&(ge==y?y.__h=[]:(t.__h.some(F),t.__h.some(ye),z=0),t.__h=[],t.__.some(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})),ge=y},k.diffed=function(e){qe&&qe(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Ye(Qe.push(t)),t.__H.__.some(function(n){n.u&&(n.__H=n.u)})),ge=y=null},k.__c=function(e,t){t.some(function(n){try{n.__h.some(F),n.__h=n.__h.filter(function(o){return!o.__||ye(o)})}catch(o){n.__h=[function(){throw o}]}}),Ge&&Ge(e,t)},k.unmount=function(e){Ze&&Ze(e);var t,n,o=e.__c;o&&o.__H&&(o.__H.__.some(function(r){try{if(r.__P&&r.__c){if(n===void 0){for(n=e.__;n&&(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}r.__P=n,Ye(ke.push(r))}else F(r)}catch(i){t=i}}),o.__H=void 0,t&&k.__e(t,o.__v))};var Je=typeof requestAnimationFrame=="function";function Vt(e){var t,n=function(){clearTimeout(o),Je&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);Je&&(t=requestAnimationFrame(n))}function Ye(e){e!=1&&Ue==k.requestAnimationFrame||((Ue=k.requestAnimationFrame)||Vt)(Ht)}function F(e){var t=y,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),y=t}function ye(e){var t=y;e.__c=e.__(),y=t}function tt(e,t){return!e||e.length!=t.length||t.some(function(n,o){return!ve(n,e[o])})}function Lt(e,t){return typeof t=="function"?t(e):t}var U=class{known=new Map;total;constructor(t){this.total=t.total;for(let n of t.chunks)this.add(n.start,n.lines)}add(t,n){n.forEach((o,r)=>this.known.set(t+r,o))}at(t){return this.known.get(t)}};function nt(e,t,n,o){let r=[],i=0,s=0;for(let a of[...n,{before_start:e.total,before_count:0,after_start:t.total,after_count:0}]){Nt(r,t,i,s,a.after_start-s,s>0||i>0,a.after_start<t.total||a.after_count>0,o);for(let l=0;l<a.before_count;l++){let p=l<a.after_count?t.at(a.after_start+l):void 0;r.push({kind:"del",before:a.before_start+l,after:-1,text:e.at(a.before_start+l)??"…",pair:p})}for(let l=0;l<a.after_count;l++){let p=l<a.before_count?e.at(a.before_start+l):void 0;r.push({kind:"add",before:-1,after:a.after_start+l,text:t.at(a.after_start+l)??"…",pair:p})}i=a.before_start+a.before_count,s=a.after_start+a.after_count}return r.length<=4e3?r:[...r.slice(0,4e3),{kind:"cut",count:r.length-4e3}]}function Nt(e,t,n,o,r,i,s,a){let p=!i&&!s?60:i?4:0,u=s?4:0,h=r>p+u+3,b=0,d=f=>{b&&e.push({kind:"fold",before:n+f-b,after:o+f-b,count:b}),b=0};for(let f=0;f<r;f++){let x=t.at(o+f);if(!(!h||f<p||f>=r-u||a.has(o+f))||x===void 0){b++;continue}d(f),e.push({kind:"same",before:n+f,after:o+f,text:x})}d(r)}var jt=new Set("def return for in if elif else while with as import from class lambda not and or is None True False let fn define declare ret br call load store getelementptr phi label".split(" ")),Dt={python:"#.*$",llvm:";.*$",asm:"#.*$|\\/\\/.*$",text:"$^"},It=`("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')|(\\b\\d[\\w.+]*)|([%@]?[A-Za-z_][\\w.]*)|(\\s+|.)`,ot=Object.fromEntries(Object.entries(Dt).map(([e,t])=>[e,new RegExp(`(${t})|${It}`,"g")])),At=2e3,Ot=.7;function Se(e,t){if(e.length>At)return[["",e]];let n=[];for(let o of e.matchAll(ot[t]??ot.text)){let[r,i,s,a,l]=o;i?n.push(["com",r]):s?n.push(["str",r]):a?n.push(["num",r]):l&&jt.has(l)?n.push(["key",r]):l&&e[o.index+l.length]==="("?n.push(["fun",r]):n.push(["",r])}return n}function it(e,t){let n=0,o=Math.min(e.length,t.length);for(;n<o&&e[n]===t[n];)n++;let r=0;for(;r<o-n&&e[e.length-1-r]===t[t.length-1-r];)r++;let i=a=>/[\w.]/.test(e[a]??" ");for(;n>0&&i(n-1)&&i(n);)n--;for(;r>0&&i(e.length-r)&&i(e.length-r-1);)r--;let s=Math.max(n,e.length-r);return s-n>Ot*e.trim().length?[0,0]:[n,s]}function rt(e,t,n,o){let r=[],i=0;for(let[s,a]of Se(e,t)){let l=[0,n-i,o-i,a.length].map(p=>Math.min(Math.max(p,0),a.length));for(let p=0;p<3;p++){let[u,h]=[l[p],l[p+1]];h>u&&r.push([[s,a.slice(u,h)],p===1])}i+=a.length}return r}function at({rows:e,split:t,language:n,open:o}){let r=t?zt(e,n,o):e.map(i=>Ft(i,n,o));return c`<div class=${`wb-diff ${t?"wb-split":""}`} role="region" aria-label="The program before and after" tabindex="0">
    <div class="wb-rows">${r}</div>
  </div>`}function Ft(e,t,n){if(e.kind==="fold")return dt(e,n);if(e.kind==="cut")return ct(e.count);let o=e.kind==="add"?"+":e.kind==="del"?"−":"";return c`<div class=${`wb-row wb-${e.kind}`}>
    <span class="wb-no">${e.before>=0?e.before+1:""}</span>
    <span class="wb-no">${e.after>=0?e.after+1:""}</span>
    <span class="wb-sign">${o}</span>${lt(e,t)}
  </div>`}function zt(e,t,n){let o=[],r=0;for(;r<e.length;){let i=e[r];if(i.kind==="fold"?o.push(dt(i,n)):i.kind==="cut"&&o.push(ct(i.count)),i.kind==="fold"||i.kind==="cut"){r++;continue}if(i.kind==="same"){o.push(c`<div class="wb-row wb-same">${ie(i,i.before,t)}${ie(i,i.after,t)}</div>`),r++;continue}let s=st(e,r,"del"),a=st(e,r+s.length,"add");for(let l=0;l<Math.max(s.length,a.length);l++){let[p,u]=[s[l],a[l]];o.push(c`<div class="wb-row">
        ${ie(p,p?.before??-1,t)}${ie(u,u?.after??-1,t)}</div>`)}r+=s.length+a.length}return o}function st(e,t,n){let o=t;for(;o<e.length&&e[o].kind===n;)o++;return e.slice(t,o)}function ie(e,t,n){if(!e)return c`<span class="wb-half wb-none"></span>`;let o=e.kind==="add"?"+":e.kind==="del"?"−":"";return c`<span class=${`wb-half wb-${e.kind}`}>
    <span class="wb-no">${t+1}</span><span class="wb-sign">${o}</span>${lt(e,n)}</span>`}function lt(e,t){let[n,o]=e.pair===void 0?[0,0]:it(e.text,e.pair),r=rt(e.text,t,n,o).map(([[i,s],a])=>i||a?c`<span class=${`${i?`wb-t-${i}`:""} ${a?"wb-mark":""}`}>${s}</span>`:s);return e.kind==="add"?c`<ins class="wb-line">${r}</ins>`:e.kind==="del"?c`<del class="wb-line">${r}</del>`:c`<span class="wb-line">${r}</span>`}function dt(e,t){return c`<button class="wb-fold" onClick=${()=>t(e)}>⋯ ${P(e.count,"unchanged line")}</button>`}function ct(e){return c`<div class="wb-fold">${P(e,"more row")} not drawn: look at a smaller part</div>`}var Kt={BracketLeft:"[",BracketRight:"]",Slash:"/"};function Ut(e){let t=e.key.length===1?e.key.toLowerCase():e.key;return e.ctrlKey||e.metaKey?e.altKey?[t]:[`mod+${e.shiftKey?"shift+":""}${t}`]:e.altKey?"[]/".includes(t)?[t]:[]:[t,e.shiftKey?"":Kt[e.code]??""]}function Wt(e){return e instanceof HTMLElement&&e.matches("input:not([type=range]):not([type=checkbox]), select, textarea")}function re(e){return t=>{if(t.isComposing||t.defaultPrevented)return;if(t.key==="Escape"){Bt(t.currentTarget),t.stopPropagation();return}if(Wt(t.target))return;let n=Ut(t).map(o=>e[o]).find(Boolean);n&&(t.preventDefault(),t.stopPropagation(),n())}}function Bt(e){let t=e.parentElement?.closest(".jp-Notebook, [tabindex]");document.activeElement instanceof HTMLElement&&document.activeElement.blur(),t?.focus({preventScroll:!0})}var W=class extends Error{constructor(n){super(n.message);this.view=n}view},B=class extends Error{};async function qt(e){let t=new Uint8Array(e.buffer,e.byteOffset,e.byteLength),n=new Blob([t]).stream().pipeThrough(new DecompressionStream("gzip"));return await new Response(n).text()}var se=class{constructor(t){this.host=t;t.on("msg:custom",this.receive)}host;pending=new Map;next=Math.floor(Math.random()*2**40)*1024;onEvent=()=>{};onBusy=()=>{};close(){this.host.off("msg:custom",this.receive)}request(t,n={},o="",r=""){o&&this.overtake(o);let i=this.next++;return new Promise((s,a)=>{this.pending.set(i,{resolve:s,reject:a,channel:o}),this.host.send({v:1,id:i,op:t,state:r,args:n}),setTimeout(()=>{this.pending.has(i)&&this.onBusy(!0)},800)})}overtake(t){for(let[n,o]of this.pending)o.channel===t&&(this.pending.delete(n),o.reject(new B))}receive=async(t,n)=>{let o=t;if(typeof o!="object"||o===null||o.v!==1)return;if(typeof o.event=="string"){this.onEvent(o.event,o.args??{});return}let r=o.id,i=typeof r=="number"?this.pending.get(r):void 0;if(!i)return;if(this.pending.delete(r),this.pending.size===0&&this.onBusy(!1),!o.ok){i.reject(new W(o.err));return}let s=o.packed&&n[0]?JSON.parse(await qt(n[0])):o.view;i.resolve({state:String(o.state??""),view:s,buffers:n})}};var j=class{connection;listeners=new Set;problem=null;busy=!1;help=!1;constructor(t){this.connection=new se(t),this.connection.onBusy=n=>this.set(()=>this.busy=n)}subscribe(t){return this.listeners.add(t),()=>this.listeners.delete(t)}set(t){t();for(let n of this.listeners)n()}async attempt(t){try{await t()}catch(n){if(n instanceof B)return;let o=n instanceof W?n.view:{code:"E-UI-PAGE",message:"the page failed to show this",where:"",found:String(n),expected:"",fix:"run the cell again",kept:"the program is unchanged",nodes:[]};this.set(()=>this.problem=o)}}};function ae(e){let[,t]=et(n=>n+1,0);N(()=>(t(void 0),e.subscribe(()=>t(void 0))),[e])}var Zt=20,Xt={import:"Import",relay:"Relay",te:"Tensor expressions",schedule:"Schedule",tune:"Tuning",tir:"Loops (TIR)",codegen:"Code",run:"Run",edit:"Edits by hand"};function ut(e){return{before:new U(e.before),after:new U(e.after),hunks:e.hunks,opened:new Set}}var le=class extends j{view=null;selected="";rewriteIndex=null;onlyChanged=!1;split=!1;computing=!1;generation=0;steps=new Map;rewrites=new Map;constructor(t){super(t),this.connection.onEvent=(n,o)=>{n==="changed"&&this.open(),n==="select"&&this.select(String(o.step),o.rewrite??null,!1)},this.open()}get steps_shown(){let t=this.view?.steps??[];return this.onlyChanged?t.filter(n=>n.changed||n.error||n.pending||n.id===this.selected):t}get summary(){return this.view?.steps.find(t=>t.id===this.selected)}get step(){return this.steps.get(this.selected)}get rewrite(){return this.rewriteIndex===null?void 0:this.rewrites.get(`${this.selected}/${this.rewriteIndex}`)}open=()=>this.attempt(async()=>{let n=(await this.connection.request("open",{},"open")).view,o=new Set(n.steps.map(a=>a.id));this.generation++,this.steps.clear(),this.rewrites.clear(),this.set(()=>this.view=n);let r=[this.selected,n.selected.step].find(a=>o.has(a)),i=n.steps.find(a=>a.changed)??n.steps[0],s=r&&r===n.selected.step?n.selected.rewrite:null;(r??i)&&this.select(r??i.id,s,!1)});select(t,n=null,o=!0){this.view?.steps.some(r=>r.id===t)&&(this.set(()=>{this.selected=t,this.rewriteIndex=n,this.problem=null}),this.load(),o&&this.connection.request("select",{step:t,rewrite:n},"select").catch(()=>{}))}load=()=>this.attempt(async()=>{let[t,n]=[this.selected,this.generation];if(!this.steps.has(t)){this.set(()=>this.computing=this.summary?.pending??!1);let r=await this.connection.request("step",{step:t},"step").finally(()=>this.set(()=>this.computing=!1));if(this.keep(r.view,n),r.state!==this.view?.state){let i=(await this.connection.request("open",{},"open")).view;n===this.generation&&this.set(()=>this.view=i)}}let o=this.rewriteIndex;if(o!==null&&!this.rewrites.has(`${t}/${o}`)){let i=(await this.connection.request("rewrite",{step:t,index:o},"rewrite")).view;n===this.generation&&this.set(()=>this.rewrites.set(`${t}/${o}`,{...i,shown:ut(i)}))}await this.prefetch()});keep(t,n){n===this.generation&&this.set(()=>this.steps.set(t.id,{...t,shown:ut(t)}))}async prefetch(){let t=this.steps_shown.filter(s=>!s.pending||s.id===this.selected).map(s=>s.id),n=t.indexOf(this.selected),o=t.map((s,a)=>({id:s,far:Math.abs(a-n)})).filter(({id:s,far:a})=>a<=Zt&&!this.steps.has(s)).sort((s,a)=>s.far-a.far).map(({id:s})=>s);if(o.length===0)return;let r=this.generation,i=await this.connection.request("steps",{steps:o},"prefetch");for(let s of i.view.steps)this.keep(s,r)}move(t){let n=this.steps_shown,o=n[n.findIndex(r=>r.id===this.selected)+t];o&&this.select(o.id)}moveRewrite(t){let n=this.step?.rewrite_count??0,o=this.rewriteIndex??-1,r=Math.min(Math.max(o+t,-1),n-1);r!==o&&this.select(this.selected,r<0?null:r)}unfold=t=>this.attempt(async()=>{let n=this.rewrite?.shown??this.step?.shown;if(!n)return;let o=Math.min(t.count,200);if([...Array(o).keys()].some(i=>n.after.at(t.after+i)===void 0)){let i={step:this.selected,side:"after",start:t.after,count:o},s=(await this.connection.request("text",i)).view;n.after.add(s.start,s.lines)}this.set(()=>{for(let i=0;i<o;i++)n.opened.add(t.after+i)})})},Jt=[["← →","previous, next rewrite inside the step"],["[ ]","previous, next step"],["↑ ↓","move in the list of steps"],["c","only steps that changed the program"],["d","one column or two"],["?","this sheet"],["Esc","back to the notebook"]];function pt({store:e}){ae(e);let t=re({ArrowLeft:()=>e.moveRewrite(-1),ArrowRight:()=>e.moveRewrite(1),ArrowUp:()=>e.move(-1),ArrowDown:()=>e.move(1),"[":()=>e.move(-1),"]":()=>e.move(1),c:()=>e.set(()=>e.onlyChanged=!e.onlyChanged),d:()=>e.set(()=>e.split=!e.split),"?":()=>e.set(()=>e.help=!e.help)});return c`<div class="wb wb-pipeline" data-lm-suppress-shortcuts="true" role="group" aria-label="Pipeline stepper"
      onKeyDown=${t}>
    <${Yt} store=${e} />
    <div class="wb-columns"><${Qt} store=${e} /><${tn} store=${e} /></div>
    ${e.help&&c`<${oe} rows=${Jt} close=${()=>e.set(()=>e.help=!1)} />`}
  </div>`}function Yt({store:e}){let t=e.view?.steps??[],n=t.reduce((i,s)=>i+s.milliseconds,0),o=t.filter(i=>i.changed).length,r=t.filter(i=>i.pending).length;return c`<header class="wb-head">
    <span class="wb-title">${e.view?.title||"Pipeline"}</span>
    <span class="wb-muted">${P(t.length,"step")} · ${o} changed the program${r?` · ${r} not run yet`:""} · ${A(n)}</span>
    ${e.busy&&c`<span class="wb-busy" role="status">kernel busy</span>`}
    <span class="wb-space"></span>
    <button class="wb-button" aria-pressed=${e.onlyChanged} title="Only steps that changed the program (c)"
      onClick=${()=>e.set(()=>e.onlyChanged=!e.onlyChanged)}>Only changed</button>
    <button class="wb-button" aria-pressed=${e.split} title="One column or two (d)"
      onClick=${()=>e.set(()=>e.split=!e.split)}>Side by side</button>
    <span class="wb-group">
      <button class="wb-button" aria-label="Previous step" title="Previous step ([)" onClick=${()=>e.move(-1)}>↑</button>
      <button class="wb-button" aria-label="Next step" title="Next step (])" onClick=${()=>e.move(1)}>↓</button>
    </span>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${()=>e.set(()=>e.help=!e.help)}>?</button>
  </header>`}function Qt({store:e}){let t=K(null);N(()=>{t.current?.querySelector("[aria-selected=true]")?.scrollIntoView({block:"nearest"})},[e.selected,e.onlyChanged]);let n=Math.max(1e-6,...(e.view?.steps??[]).map(i=>i.milliseconds)),o="",r=e.steps_shown.map(i=>{let s=[Xt[i.kind]??i.kind,i.group].filter(Boolean).join(" · "),a=s!==o;return o=s,c`${a&&c`<div class="wb-heading" role="presentation">${s}</div>`}
      <${en} key=${i.id} step=${i} store=${e} share=${i.milliseconds/n} />`});return c`<div class="wb-list" role="listbox" aria-label="Steps" tabindex="0" ref=${t}
    aria-activedescendant=${e.selected?ft(e.selected):void 0}>${r}</div>`}var ft=e=>`wb-step-${e}`;function en({step:e,store:t,share:n}){let o=e.ops_after-e.ops_before,r=e.pending?"pending":e.error?"error":e.changed?"changed":"same",i={pending:"not run yet",error:"failed",changed:"changed the program",same:"changed nothing"}[r];return c`<div id=${ft(e.id)} class=${`wb-item wb-is-${r}`} role="option" title=${e.note||void 0}
      aria-selected=${e.id===t.selected} onClick=${()=>t.select(e.id)}>
    <span class="wb-dot" aria-hidden="true"></span>
    <span class="wb-name">${e.name}</span><span class="wb-hidden"> (${i})</span>
    ${o!==0&&c`<span class="wb-delta">${o>0?"+":"−"}${Math.abs(o)}<span class="wb-hidden"> operations</span></span>`}
    <span class="wb-time">${e.pending?"":A(e.milliseconds)}</span>
    <span class="wb-bar" aria-hidden="true" style=${{width:`${Math.round(n*100)}%`}}></span>
  </div>`}function tn({store:e}){let{summary:t,step:n,rewrite:o}=e,r=e.rewriteIndex===null?n?.shown:o?.shown,i=r&&nt(r.before,r.after,r.hunks,r.opened);return c`<section class="wb-detail" aria-label="The selected step">
    ${t&&c`<div class="wb-step-head">
      <span class="wb-step-name">${t.name}</span>
      <span class="wb-muted">${nn(t)}</span>
      ${n?.call&&c`<code class="wb-call" title="The same in Python">${n.call}</code>`}
    </div>`}
    ${e.problem&&c`<${O} error=${e.problem} close=${()=>e.set(()=>e.problem=null)} />`}
    ${t?.error&&c`<${O} error=${t.error} />`}
    ${(t?.rewrite_count??0)>0&&c`<${on} store=${e} count=${t.rewrite_count} />`}
    ${i?c`<${at} rows=${i} split=${e.split} language=${n?.language??"python"} before=${r.before}
          after=${r.after} open=${e.unfold} />`:c`<div class="wb-wait">${e.view&&!t?"No steps.":e.computing?"Running this step and those before it …":"…"}</div>`}
  </section>`}function nn(e){if(e.pending)return e.note;let n=[e.ops_before===e.ops_after?P(e.ops_after,"op"):`${e.ops_before} → ${e.ops_after} ops`,A(e.milliseconds)];return e.rewrite_count&&n.splice(1,0,P(e.rewrite_count,"rewrite")),!e.changed&&!e.error&&n.unshift("changed nothing"),[...n,e.note].filter(Boolean).join(" · ")}function on({store:e,count:t}){let n=e.rewriteIndex,o=n===null?void 0:e.rewrite?.rewrite??e.step?.rewrites[n],r=i=>e.select(e.selected,i<0?null:i);return c`<div class="wb-rewrites">
    <div class="wb-scrub">
      <button class="wb-button" aria-label="Previous rewrite" title="Previous rewrite (←)" disabled=${n===null}
        onClick=${()=>e.moveRewrite(-1)}>←</button>
      <input type="range" min="-1" max=${t-1} value=${n??-1} aria-label="Rewrite"
        aria-valuetext=${n===null?"the whole step":`rewrite ${n+1} of ${t}`}
        onInput=${i=>r(Number(i.target.value))} />
      <button class="wb-button" aria-label="Next rewrite" title="Next rewrite (→)" disabled=${n===t-1}
        onClick=${()=>e.moveRewrite(1)}>→</button>
      <span class="wb-count" aria-live="polite">${n===null?`whole step · ${P(t,"rewrite")}`:`rewrite ${n+1} of ${t}`}</span>
    </div>
    ${o&&c`<div class="wb-rule">
      <span class="wb-rule-name">${o.rule}</span>
      <span class="wb-source">${o.source}</span>
      ${o.where&&c`<span class="wb-muted">at ${o.where}</span>`}
      <span class="wb-muted">${A(o.microseconds/1e3)}</span>
    </div>`}
    ${o&&e.rewrite&&c`<${rn} view=${e.rewrite} />`}
  </div>`}function rn({view:e}){return!e.why&&e.bindings.length===0&&!e.rule_text?null:c`<div class="wb-why">
    ${e.why&&c`<div>${e.why}</div>`}
    ${e.bindings.length>0&&c`<dl class="wb-bindings">
      ${e.bindings.map(([t,n])=>c`<dt>${t}</dt><dd>${n}</dd>`)}</dl>`}
    ${e.rule_text&&c`<details><summary>The rule</summary><pre>${e.rule_text}</pre></details>`}
  </div>`}function bt(e,t){let n={};for(let o of e.parameters){if(o.kind==="selection")continue;let r=["loop","block","choice","buffer"].includes(o.kind)?ht(o,t)[0]?.[0]:null;n[o.name]=o.default??(o.kind==="boolean"?!1:r??null)}return n}function ht(e,t){let n=r=>r.extent?`${r.name}  (${r.extent})`:r.name,o=new Map(t.map(r=>[r.id,n(r)]));return e.choices.length>0?e.choices.map(r=>[r,o.get(r)??r]):t.filter(r=>r.kind===e.kind).map(r=>[r.id,n(r)])}function _t({primitive:e,nodes:t,values:n,busy:o,change:r,apply:i}){let s=e.parameters.filter(l=>l.kind!=="selection");return c`<form class="wb-form" onSubmit=${l=>{l.preventDefault(),i()}} aria-label=${`Arguments of ${e.name}`}>
    ${s.map(l=>c`<label class="wb-field" key=${l.name}>
      <span class="wb-field-name">${l.name}</span>
      <${sn} parameter=${l} nodes=${t} value=${n[l.name]} change=${r} />
      ${l.doc&&c`<span class="wb-muted">${l.doc}</span>`}
    </label>`)}
    <button class="wb-button wb-primary" type="submit" disabled=${o}>Apply</button>
  </form>`}function sn({parameter:e,nodes:t,value:n,change:o}){let r=s=>o(e.name,s),i=s=>s.target.value;switch(e.kind){case"loop":case"block":case"buffer":case"choice":return c`<select value=${n} onChange=${s=>r(i(s))}>
        ${ht(e,t).map(([s,a])=>c`<option value=${s}>${a}</option>`)}</select>`;case"loops":return c`<${dn} parameter=${e} nodes=${t} value=${n??[]} set=${r} />`;case"integer":case"number":return c`<input type="number" step=${e.kind==="integer"?1:"any"} value=${n??""}
        onInput=${s=>r(i(s)===""?null:Number(i(s)))} />`;case"integers":return c`<input type="text" value=${an(n)} placeholder="auto, 8" spellcheck=${!1}
        onChange=${s=>r(ln(i(s)))} />`;case"boolean":return c`<input type="checkbox" checked=${n===!0}
        onChange=${s=>r(s.target.checked)} />`;default:return c`<input type="text" value=${n??""} spellcheck=${!1} onInput=${s=>r(i(s))} />`}}function an(e){return Array.isArray(e)?e.map(t=>t??"auto").join(", "):""}function ln(e){return e.split(/[\s,]+/).filter(Boolean).map(n=>/^(auto|none|\?|_)$/i.test(n)?null:/^-?\d+$/.test(n)?Number(n):n)}function dn({nodes:e,value:t,set:n}){let o=new Map(e.map(i=>[i.id,i.name])),r=(i,s)=>{let a=[...t];[a[i],a[s]]=[a[s],a[i]],n(a)};return c`<span class="wb-order" role="list">${t.map((i,s)=>c`<span class="wb-order-item" role="listitem" key=${i}>
    <button type="button" class="wb-icon" aria-label=${`Move ${o.get(i)??i} outwards`} disabled=${s===0}
      onClick=${()=>r(s,s-1)}>‹</button>
    <code>${o.get(i)??i}</code>
    <button type="button" class="wb-icon" aria-label=${`Move ${o.get(i)??i} inwards`} disabled=${s===t.length-1}
      onClick=${()=>r(s,s+1)}>›</button></span>`)}</span>`}var q=class extends j{view=null;selected="";chosen="";values={};filter="";working=!1;judged=new Map;constructor(t){super(t),this.connection.onEvent=n=>{n==="changed"&&!this.working&&this.open()},this.open()}get nodes(){let t=[],n=[...this.view?.tree??[]].reverse();for(let o=n.pop();o;o=n.pop())t.push(o),n.push(...[...o.children].reverse());return t}get node(){return this.nodes.find(t=>t.id===this.selected)}open=()=>this.attempt(async()=>this.show((await this.connection.request("open",{},"open")).view));show(t){this.set(()=>{this.view=t,this.problem=null,this.chosen="",this.judged.clear(),this.node||(this.selected=this.nodes.find(n=>n.kind==="loop")?.id??this.nodes[0]?.id??"")}),this.judge()}reasonAgainst(t,n){let o=this.view?.judged?t.applicable:this.judged.get(n.id)?.reasons;if(!o)return;let r=o[t.name in o&&!this.view?.judged?t.name:n.id];return r===void 0?`not for a ${n.kind}`:r}judge=()=>this.attempt(async()=>{let[t,n]=[this.view,this.selected];if(!t||t.judged||!n||this.judged.has(n))return;let o=(await this.connection.request("reasons",{selection:n},"reasons")).view;this.view===t&&this.set(()=>this.judged.set(n,o))});select(t){this.set(()=>{t!==this.selected&&(this.chosen=""),this.selected=t,this.problem=null}),this.judge()}choose(t){this.set(()=>{this.problem=null,this.chosen=this.chosen===t.name?"":t.name,this.values={...bt(t,this.nodes),...this.judged.get(this.selected)?.arguments[t.name]}});let n=t.parameters.some(o=>o.kind!=="selection");this.chosen&&!n&&this.apply(t)}apply=t=>this.command("apply",{primitive:t.name,selection:this.selected,arguments:this.values});undo=()=>this.view?.can_undo?this.command("undo",{}):Promise.resolve();redo=()=>this.view?.can_redo?this.command("redo",{}):Promise.resolve();command(t,n){return this.working?Promise.resolve():(this.set(()=>this.working=!0),this.attempt(async()=>{let o=this.view?.state??"";this.show((await this.connection.request(t,{...n,seen:o},"command",o)).view)}).finally(()=>this.set(()=>this.working=!1)))}walk(t){let n=this.nodes,o=n.findIndex(i=>i.id===this.selected),r={next:n[o+1],previous:n[o-1],out:n.find(i=>i.children.some(s=>s.id===this.selected)),in:n[o]?.children[0]}[t];r&&this.select(r.id)}},cn=[["↑ ↓","previous, next box of the tree"],["← →","out to the box around, in to the first box inside"],["/","find a primitive"],["Ctrl+Z","undo (Cmd on macOS)"],["Ctrl+Shift+Z","redo"],["?","this sheet"],["Esc","back to the notebook"]];function mt({store:e}){ae(e);let t=K(null),n=re({ArrowUp:()=>e.walk("previous"),ArrowDown:()=>e.walk("next"),ArrowLeft:()=>e.walk("out"),ArrowRight:()=>e.walk("in"),"/":()=>t.current?.querySelector(".wb-filter")?.focus(),"mod+z":()=>{e.undo()},"mod+shift+z":()=>{e.redo()},"?":()=>e.set(()=>e.help=!e.help)});return c`<div class="wb wb-schedule" data-lm-suppress-shortcuts="true" role="group" aria-label="Schedule editor"
      aria-busy=${e.working} onKeyDown=${n} ref=${t}>
    <${un} store=${e} />
    <div class="wb-columns"><${fn} store=${e} /><${bn} store=${e} /></div>
    <${_n} store=${e} />
    ${e.help&&c`<${oe} rows=${cn} close=${()=>e.set(()=>e.help=!1)} />`}
  </div>`}function un({store:e}){let t=e.view,n=e.nodes.filter(o=>o.kind==="loop").length;return c`<header class="wb-head">
    <span class="wb-title">${t?.name||"Schedule"}</span>
    <span class="wb-muted">${P(n,"loop")}${t&&t.history.length>0?` · step ${t.position} of ${t.history.length}`:""}</span>
    ${(e.busy||e.working)&&c`<span class="wb-busy" role="status">${e.busy?"kernel busy":"applying"}</span>`}
    <span class="wb-space"></span>
    <span class="wb-group">
      <button class="wb-button" title="Undo (Ctrl+Z)" disabled=${!t?.can_undo} onClick=${e.undo}>Undo</button>
      <button class="wb-button" title="Redo (Ctrl+Shift+Z)" disabled=${!t?.can_redo} onClick=${e.redo}>Redo</button>
    </span>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${()=>e.set(()=>e.help=!e.help)}>?</button>
  </header>`}var pn={parallel:"∥",vectorized:"⇶",unrolled:"↻",thread:"▦",serial:""};function fn({store:e}){let t=K(null);return N(()=>{t.current?.querySelector("[aria-selected=true] > .wb-box-head")?.scrollIntoView({block:"nearest",inline:"nearest"})},[e.selected]),c`<div class="wb-tree" role="tree" aria-label="Loop tree" tabindex="0" ref=${t}
      aria-activedescendant=${e.selected?gt(e.selected):void 0}>
    ${(e.view?.tree??[]).map(n=>c`<${vt} key=${n.id} node=${n} store=${e} />`)}
  </div>`}var gt=e=>`wb-node-${e}`;function vt({node:e,store:t}){let n=t.problem?.nodes.includes(e.id)??!1,o=e.kind==="loop"?e.loop_kind:e.kind,r=i=>{i.stopPropagation(),t.select(e.id)};return c`<div id=${gt(e.id)} class=${`wb-box wb-k-${o} ${n?"wb-blamed":""}`} role="treeitem"
      aria-selected=${e.id===t.selected} aria-expanded=${e.children.length>0?!0:void 0} onClick=${r}>
    <div class="wb-box-head">
      ${e.kind==="loop"?c`<span class="wb-iter">${e.name}</span>`:c`<span class="wb-block-name">${e.name}</span>`}
      ${e.extent&&c`<span class="wb-extent">${e.extent}</span>`}
      ${e.kind==="loop"&&e.loop_kind!=="serial"&&c`<span class="wb-chip">
        <span aria-hidden="true">${pn[e.loop_kind]??""}</span> ${e.loop_kind}</span>`}
      ${e.reduction&&c`<span class="wb-chip wb-chip-sum"><span aria-hidden="true">Σ</span> reduction</span>`}
      ${e.detail&&c`<code class="wb-detail-text">${e.detail}</code>`}
    </div>
    ${e.children.length>0&&c`<div class="wb-inside" role="group">
      ${e.children.map(i=>c`<${vt} key=${i.id} node=${i} store=${t} />`)}</div>`}
  </div>`}function bn({store:e}){let t=e.node,n=e.filter.trim().toLowerCase(),o=(e.view?.primitives??[]).filter(l=>l.name.toLowerCase().includes(n)),r=t?o.map(l=>({primitive:l,reason:e.reasonAgainst(l,t)})):[],i=r.some(({reason:l})=>l===void 0),s=r.filter(({reason:l})=>l===null),a=r.filter(({reason:l})=>typeof l=="string");return c`<section class="wb-panel" aria-label="Primitives">
    <div class="wb-panel-head">
      <span>${t?c`For ${t.kind} <code class="wb-iter">${t.name}</code>`:"Select a loop or a block"}</span>
      <input class="wb-filter" type="search" placeholder="Find ( / )" aria-label="Find a primitive" value=${e.filter}
        onInput=${l=>e.set(()=>e.filter=l.target.value)} />
    </div>
    ${e.problem&&c`<${O} error=${e.problem} close=${()=>e.set(()=>e.problem=null)} />`}
    <div class="wb-primitives" aria-busy=${i}>
      ${i&&c`<div class="wb-wait">Looking at what is legal here …</div>`}
      ${s.map(({primitive:l})=>c`<${hn} key=${l.name} primitive=${l} store=${e} />`)}
      ${a.length>0&&c`<div class="wb-heading">Not here, and why</div>`}
      ${a.map(({primitive:l,reason:p})=>c`<div class="wb-primitive wb-off" key=${l.name}>
        <button aria-disabled="true" aria-describedby=${`wb-why-${l.name}`}>${l.name}</button>
        <span id=${`wb-why-${l.name}`} class="wb-reason">${p}</span></div>`)}
    </div>
  </section>`}function hn({primitive:e,store:t}){let n=t.chosen===e.name;return c`<div class=${`wb-primitive ${n?"wb-open":""}`}>
    <button aria-expanded=${n} onClick=${()=>t.choose(e)}>${e.name}</button>
    <span class=${n?"wb-doc wb-whole":"wb-doc"}>${n?e.doc:e.doc.split(`

`)[0]}</span>
    ${n&&c`<${_t} primitive=${e} nodes=${t.nodes} values=${t.values} busy=${t.working}
      change=${(o,r)=>t.set(()=>t.values={...t.values,[o]:r})}
      apply=${()=>t.apply(e)} />`}
  </div>`}function _n({store:e}){let t=e.view;if(!t)return null;let n=t.code.replace(/\n$/,"").split(`
`),o=t.script.chunks.flatMap(r=>r.lines);return c`<div class="wb-bottom">
    <section aria-label="The Python that leads here"><div class="wb-heading">Python</div>
      <pre class="wb-code" tabindex="0">${n.map((r,i)=>c`<${wt} text=${r} last=${i===n.length-1&&t.position>0} />`)}</pre></section>
    <section aria-label="The program"><div class="wb-heading">Program</div>
      <pre class="wb-code" tabindex="0">${o.map(r=>c`<${wt} text=${r} last=${!1} />`)}</pre></section>
  </div>`}function wt({text:e,last:t}){let n=Se(e,"python").map(([o,r])=>o?c`<span class=${`wb-t-${o}`}>${r}</span>`:r);return c`<span class=${t?"wb-code-line wb-last":"wb-code-line"}>${n}${`
`}</span>`}var Pe=`/* Colours come from JupyterLab's theme where there is one; the second value is for other places. */
.wb {
  --bg: var(--jp-layout-color1, light-dark(#ffffff, #16181d));
  --bg-soft: var(--jp-layout-color2, light-dark(#f4f5f7, #1e2128));
  --text: var(--jp-ui-font-color1, light-dark(#1f2430, #e3e5ea));
  --muted: color-mix(in oklab, var(--text) 66%, var(--bg));
  --line: color-mix(in oklab, var(--text) 13%, var(--bg));
  --accent: var(--jp-brand-color1, light-dark(#1565c0, #6cb2f7));
  /* Blue-green and orange stay apart for every kind of colour vision; the signs say the same without colour. */
  --add: #12937f; --del: #d9680f; --bad: #c62a4b; --sum: #8a5cc7;
  --mono: var(--jp-code-font-family, ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace);
  --ui: var(--jp-ui-font-family, system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif);
  display: flex; flex-direction: column; position: relative; box-sizing: border-box; overflow: hidden; resize: vertical;
  min-height: 260px; color: var(--text); background: var(--bg); font: 13px/1.45 var(--ui);
  border: 1px solid var(--line); border-radius: 8px;
}
.wb-pipeline { height: 480px; }
.wb-schedule { height: 600px; }
.wb *, .wb *::before { box-sizing: border-box; }
.wb code, .wb pre, .wb kbd { font-family: var(--mono); font-size: 12px; color: inherit; background: none; padding: 0; border: 0; margin: 0; }
.wb-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.wb-muted { color: var(--muted); }
.wb-space { flex: 1; }
.wb :focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.wb :is(.wb-list, .wb-tree, .wb-diff, .wb-code):focus-visible { outline-width: 1px; outline-offset: -1px; }
.wb :is(.wb-list, .wb-tree, .wb-diff, .wb-code):focus:not(:focus-visible) { outline: none; }

/* head */
.wb-head { display: flex; align-items: center; gap: 10px; padding: 8px 12px; border-bottom: 1px solid var(--line); flex: none; white-space: nowrap; }
.wb-head > .wb-muted { overflow: hidden; text-overflow: ellipsis; }
.wb-title { font-weight: 600; }
.wb-busy { color: var(--sum); font-size: 12px; }
.wb-group { display: flex; }
.wb .wb-group .wb-button:not(:first-child) { border-left: 0; border-start-start-radius: 0; border-end-start-radius: 0; }
.wb .wb-group .wb-button:not(:last-child) { border-start-end-radius: 0; border-end-end-radius: 0; }
.wb .wb-button {
  font: 12px/1 var(--ui); color: var(--text); background: var(--bg); border: 1px solid var(--line); border-radius: 6px;
  padding: 6px 10px; cursor: pointer; transition: background-color 0.12s;
}
.wb .wb-button:hover:not(:disabled) { background: var(--bg-soft); }
.wb .wb-button:disabled { color: color-mix(in oklab, var(--muted) 55%, var(--bg)); cursor: default; }
.wb .wb-button[aria-pressed="true"] { color: var(--accent); border-color: var(--accent); background: color-mix(in oklab, var(--accent) 9%, var(--bg)); }
.wb .wb-primary { color: #fff; background: color-mix(in oklab, var(--accent) 88%, black); border-color: transparent; font-weight: 600; }
.wb .wb-primary:hover:not(:disabled) { background: color-mix(in oklab, var(--accent) 74%, black); }
.wb-icon { font: 15px/1 var(--ui); color: var(--muted); background: none; border: 0; border-radius: 4px; padding: 2px 6px; cursor: pointer; }
.wb-icon:hover:not(:disabled) { color: var(--text); background: var(--bg-soft); }
.wb-icon:disabled { opacity: 0.35; cursor: default; }
.wb-columns { display: flex; flex: 1; min-height: 0; }
.wb-heading { padding: 10px 12px 4px; font-size: 11px; font-weight: 600; letter-spacing: 0.04em; color: var(--muted); }

/* list of steps */
.wb-list { width: 270px; flex: none; overflow-y: auto; border-right: 1px solid var(--line); padding-bottom: 8px; }
.wb-item { display: flex; align-items: center; gap: 8px; position: relative; padding: 4px 12px; cursor: pointer; }
.wb-item:hover { background: var(--bg-soft); }
.wb-item[aria-selected="true"] { background: color-mix(in oklab, var(--accent) 13%, var(--bg)); box-shadow: inset 3px 0 0 var(--accent); }
.wb-dot { width: 8px; height: 8px; flex: none; border-radius: 50%; border: 1.5px solid color-mix(in oklab, var(--muted) 60%, var(--bg)); }
.wb-is-changed .wb-dot { background: var(--accent); border-color: var(--accent); }
.wb-is-error .wb-dot { background: var(--bad); border-color: var(--bad); border-radius: 1px; transform: rotate(45deg); }
.wb-whole { white-space: pre-line; }
.wb-is-pending .wb-dot { border-style: dashed; }
.wb-is-pending .wb-name { color: var(--muted); font-style: italic; }
.wb-name { flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-is-same .wb-name { color: var(--muted); }
.wb-delta { font: 11px/1 var(--mono); color: color-mix(in oklab, var(--add) 75%, var(--text)); }
.wb-time { width: 52px; text-align: right; font-size: 11px; color: var(--muted); font-variant-numeric: tabular-nums; }
.wb-bar { position: absolute; right: 12px; bottom: 1px; height: 2px; max-width: 52px; border-radius: 1px; background: color-mix(in oklab, var(--accent) 45%, var(--bg)); }

/* the selected step */
.wb-detail { flex: 1; min-width: 0; display: flex; flex-direction: column; }
.wb-step-head { display: flex; align-items: baseline; gap: 12px; padding: 8px 14px; flex: none; white-space: nowrap; overflow: hidden; }
.wb-step-name { font-size: 15px; font-weight: 600; }
.wb-call { margin-left: auto !important; color: var(--muted) !important; overflow: hidden; text-overflow: ellipsis; }
.wb-rewrites { padding: 0 14px 8px; flex: none; }
.wb-scrub { display: flex; align-items: center; gap: 8px; }
.wb-scrub input { flex: 1; min-width: 60px; max-width: 360px; accent-color: var(--accent); }
.wb-count { color: var(--muted); font-variant-numeric: tabular-nums; }
.wb-rule { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; padding-top: 6px; }
.wb-rule-name { font-weight: 600; }
.wb-source { font: 12px var(--mono); color: color-mix(in oklab, var(--accent) 85%, var(--text)); }
.wb-why { margin-top: 6px; padding: 6px 10px; border-radius: 6px; background: var(--bg-soft); max-height: 130px; overflow: auto; }
.wb-bindings, .wb-problem dl, .wb-sheet dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 4px 0 0; padding: 0; }
.wb dt, .wb dd { margin: 0; padding: 0; width: auto; float: none; display: block; }
.wb dt { color: var(--muted); font-weight: normal; }
.wb-bindings dt, .wb-bindings dd { font: 12px var(--mono); }
.wb-why summary { cursor: pointer; color: var(--muted); }
.wb-wait { padding: 16px; color: var(--muted); }

/* difference */
.wb-diff { flex: 1; overflow: auto; border-top: 1px solid var(--line); font: 12px/1.55 var(--mono); tab-size: 4; }
.wb-rows { min-width: max-content; padding-bottom: 8px; }
.wb-split .wb-rows { min-width: 0; }
.wb-row { display: flex; }
.wb-no { width: 42px; flex: none; padding-right: 8px; text-align: right; user-select: none; color: color-mix(in oklab, var(--muted) 65%, var(--bg)); }
.wb-sign { width: 18px; flex: none; text-align: center; user-select: none; font-weight: 700; }
.wb-line { white-space: pre; text-decoration: none; padding-right: 16px; flex: 1; }
.wb-split .wb-row { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.wb-half { display: flex; min-width: 0; }
.wb-half + .wb-half { border-left: 1px solid var(--line); }
.wb-split .wb-line { white-space: pre-wrap; overflow-wrap: anywhere; }
.wb-none { background: repeating-linear-gradient(135deg, transparent 0 5px, color-mix(in oklab, var(--line) 45%, transparent) 5px 6px); }
.wb-add { background: color-mix(in oklab, var(--add) 13%, var(--bg)); }
.wb-del { background: color-mix(in oklab, var(--del) 13%, var(--bg)); }
.wb-add .wb-sign { color: var(--add); }
.wb-del .wb-sign { color: var(--del); }
.wb-add .wb-mark { background: color-mix(in oklab, var(--add) 32%, var(--bg)); border-radius: 2px; }
.wb-del .wb-mark { background: color-mix(in oklab, var(--del) 32%, var(--bg)); border-radius: 2px; }
.wb-fold { display: block; width: 100%; text-align: left; font: 12px/1.9 var(--ui); color: var(--muted); background: var(--bg-soft); border: 0; padding: 0 14px 0 84px; cursor: pointer; }
.wb-fold:hover { color: var(--accent); }
.wb-t-key { color: var(--jp-mirror-editor-keyword-color, light-dark(#1b7f37, #79c98f)); font-weight: 600; }
.wb-t-num { color: var(--jp-mirror-editor-number-color, light-dark(#0a6fb5, #7cc4ff)); }
.wb-t-str { color: var(--jp-mirror-editor-string-color, light-dark(#a8402c, #ef9f87)); }
.wb-t-com { color: var(--muted); font-style: italic; }
.wb-t-fun { color: color-mix(in oklab, var(--accent) 70%, var(--text)); }

/* loop tree */
.wb-tree { flex: 1; min-width: 0; overflow: auto; padding: 12px; border-right: 1px solid var(--line); background: color-mix(in oklab, var(--bg-soft) 45%, var(--bg)); }
.wb-box { --k: color-mix(in oklab, var(--muted) 55%, var(--bg)); min-width: max-content; border: 1px solid var(--line); border-left: 4px solid var(--k); border-radius: 6px; background: var(--bg); cursor: pointer; }
.wb-box + .wb-box { margin-top: 6px; }
.wb-box-head { display: flex; align-items: center; gap: 10px; padding: 4px 10px; border-radius: 5px; }
.wb-box-head:hover { background: var(--bg-soft); }
.wb-box[aria-selected="true"] { border-color: var(--accent); border-left-color: var(--k); }
.wb-box[aria-selected="true"] > .wb-box-head { background: color-mix(in oklab, var(--accent) 14%, var(--bg)); }
.wb-inside { padding: 2px 6px 6px 14px; }
.wb-iter { font: 600 13px var(--mono) !important; }
.wb-block-name { font-weight: 600; }
.wb-extent { font: 12px var(--mono); color: var(--muted); }
.wb-extent::before { content: "× "; }
.wb-detail-text { color: var(--muted) !important; }
.wb-chip { font-size: 11px; padding: 0 7px; border-radius: 9px; color: color-mix(in oklab, var(--k) 70%, var(--text)); background: color-mix(in oklab, var(--k) 16%, var(--bg)); }
.wb-chip-sum { --k: var(--sum); }
.wb-k-parallel { --k: #2f7fd1; }
.wb-k-vectorized { --k: var(--add); }
.wb-k-unrolled { --k: var(--del); }
.wb-k-thread { --k: var(--sum); }
.wb-k-block, .wb-k-stage { border-left-width: 1px; border-style: dashed; }
.wb-blamed { border-color: var(--bad) !important; }
.wb-blamed > .wb-box-head { background: color-mix(in oklab, var(--bad) 14%, var(--bg)) !important; }

/* primitives */
.wb-panel { flex: 0 0 44%; min-width: 280px; display: flex; flex-direction: column; }
.wb-panel-head { display: flex; justify-content: space-between; align-items: center; gap: 10px; padding: 8px 12px; flex: none; border-bottom: 1px solid var(--line); }
.wb input[type="search"], .wb input[type="text"], .wb input[type="number"], .wb select {
  font: 12px/1.3 var(--mono); color: var(--text); background: var(--bg); border: 1px solid color-mix(in oklab, var(--text) 26%, var(--bg)); border-radius: 5px; padding: 4px 8px; min-width: 0;
}
.wb .wb-filter { width: 130px; font-family: var(--ui); }
.wb-primitives { flex: 1; overflow-y: auto; padding: 6px; }
.wb-primitive { display: grid; grid-template-columns: 152px 1fr; align-items: baseline; gap: 0 10px; padding: 1px 6px; border-radius: 6px; }
.wb-primitive > button { font: 12px/1.4 var(--mono); text-align: left; color: color-mix(in oklab, var(--accent) 88%, var(--text)); background: none; border: 0; border-radius: 5px; padding: 4px 6px; cursor: pointer; overflow-wrap: anywhere; }
.wb-primitive > button:hover { background: color-mix(in oklab, var(--accent) 12%, var(--bg)); }
.wb-doc, .wb-reason { color: var(--muted); font-size: 12px; }
.wb-off > button { color: color-mix(in oklab, var(--muted) 88%, var(--bg)); cursor: not-allowed; }
.wb-off > button:hover { background: none; }
.wb-open { background: var(--bg-soft); padding-bottom: 8px; }
.wb-form { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; padding: 6px; }
.wb-field { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 8px; }
.wb-field-name { font: 12px var(--mono); }
.wb-field .wb-muted { font-size: 12px; }
.wb-field input[type="number"], .wb-field input[type="text"] { width: 96px; }
.wb-order { display: flex; flex-wrap: wrap; gap: 4px; }
.wb-order-item { display: inline-flex; align-items: center; background: var(--bg); border: 1px solid var(--line); border-radius: 5px; padding: 1px; }

/* code, messages, keys */
.wb-bottom { display: flex; flex: 0 0 32%; min-height: 0; border-top: 1px solid var(--line); }
.wb-bottom > section { flex: 1; min-width: 0; display: flex; flex-direction: column; }
.wb-bottom > section + section { border-left: 1px solid var(--line); }
.wb .wb-code { flex: 1; overflow: auto; padding: 2px 12px 8px !important; line-height: 1.55; white-space: pre; }
.wb-code-line { display: block; padding: 0 4px; margin: 0 -4px; border-radius: 3px; }
.wb-last { background: color-mix(in oklab, var(--add) 16%, var(--bg)); }
.wb-problem { margin: 0 12px 8px; padding: 8px 10px; border: 1px solid color-mix(in oklab, var(--bad) 45%, var(--bg)); border-left: 4px solid var(--bad); border-radius: 6px; background: color-mix(in oklab, var(--bad) 6%, var(--bg)); flex: none; max-height: 50%; overflow: auto; }
.wb-panel .wb-problem { margin: 8px 12px 4px; }
.wb-problem-head { display: flex; gap: 10px; align-items: baseline; }
.wb-problem-head .wb-icon { margin-left: auto; }
.wb-code + span { font-weight: 600; }
.wb-problem .wb-code { font: 12px var(--mono); color: color-mix(in oklab, var(--bad) 80%, var(--text)); flex: none; white-space: nowrap; padding: 0 !important; }
.wb-problem dd { overflow-wrap: anywhere; }
.wb-sheet { position: absolute; right: 12px; top: 48px; width: 330px; max-height: calc(100% - 60px); overflow: auto; padding: 10px 14px 12px; background: var(--bg); border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 8px 28px rgb(0 0 0 / 22%); z-index: 2; }
.wb-sheet-head { display: flex; justify-content: space-between; }
.wb-sheet dl { gap: 5px 14px; }
.wb kbd { display: inline-block; padding: 0 6px; margin-right: 4px; color: var(--text); background: var(--bg-soft); border: 1px solid var(--line); border-radius: 4px; box-shadow: none; }
@media (prefers-reduced-motion: reduce) { .wb * { transition: none !important; } }
`;var xt=new WeakMap;function mn(e){let t=xt.get(e);return t||(t=e.get("kind")==="schedule"?new q(e):new le(e),xt.set(e,t)),t}function gn(){let e="workbench-style",t=document.getElementById(e);if(t?.textContent===Pe)return;let n=t??document.createElement("style");n.id=e,n.textContent=Pe,t||document.head.append(n)}function ro({model:e,el:t}){gn();let n=mn(e);return t.classList.add("wb-host"),me(n instanceof q?c`<${mt} store=${n} />`:c`<${pt} store=${n} />`,t),()=>me(null,t)}export{ro as render};
