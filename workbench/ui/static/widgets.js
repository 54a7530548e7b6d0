var w,Me,kt,E,de,Q,He,X,Ne,ue,pe,yt,A=Symbol.for("pv"),ee={},te=[],$t=/^m(i|n|o|s|text|space)$/,fe=Array.isArray,be=te.slice,L=Object.assign;function N(e){e&&e.parentNode&&e.remove()}function Le(e,t,n){var o,i,r,s={},a=arguments.length;for(r in t)r=="key"?o=t[r]:r=="ref"&&typeof e!="function"?i=t[r]:s[r]=t[r];return a>2&&(s.children=a>3?be.call(arguments,2):n),I(e,s,o,i,null)}function I(e,t,n,o,i){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:A,__v:i||++Me,__i:-1,__u:0};return!i&&w.vnode&&w.vnode(r),r}function ne(e){return e.children}function J(e,t){this.props=e,this.context=t,this.__g=0}function R(e,t){if(t==null)return e.__&&R(e.__,e.__i+1);for(var n;t<e.__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:R(e)}function St(e){var t,n=e.__v,o=n.__e,i=[],r=[],s=e.__P;s&&((t=L({constructor:A},n)).__v=n.__v+1,w.vnode&&w.vnode(t),he(s,t,n,e.__n,s.namespaceURI,32&n.__u?[o]:null,i,o||R(n),32&n.__u,r),t.__v=n.__v,t.__.__k[t.__i]=t,je(i,t,r),n.__=n.__e=null,t.__e!=o&&Ve(t))}function Ve(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),Ve(e)}function Ee(e){(8&e.__g||(e.__g|=8,E.push(e),Q++))&&de==w.debounceRendering||((de=w.debounceRendering)||queueMicrotask)(De)}function De(){try{for(var e,t=1;E.length;)E.length>t&&E.sort(He),e=E.shift(),t=E.length,8&e.__g&&St(e)}finally{(Q=E.length)&&(de||queueMicrotask)(De)}}function Ie(e,t,n,o,i,r,s,a,p,u,d){var h,b,l,f,x,m,g=o.__k||te,_=t.length;for(p=Pt(n,t,g,p,_),h=0;h<_;h++)(l=n.__k[h])!=null&&(b=~l.__i&&g[l.__i]||ee,l.__i=h,m=he(e,l,b,i,r,s,a,p,u,d),f=l.__e,(b.ref!=l.ref||8&b.__u)&&(b.ref&&_e(b.ref,null,l,b),l.ref&&d.push(l.ref,l.__c||f,l)),x=x||f,4&l.__u?(p=Ae(l,p,e,!b.__v),b.__e&&(b.__e=null)):typeof l.type=="function"&&m!==void 0?p=m:f&&(p=f.nextSibling),l.__u&=-21);return n.__e=x,p}function Pt(e,t,n,o,i){var r,s,a,p,u,d,h,b,l,f=n.length,x=f,m=0,g=0,_=e.__k=Array(i);for(r=0;r<i;r++)(s=t[r])!=null&&typeof s!="boolean"&&typeof s!="function"?(typeof s!="object"||s.constructor===String?s=_[r]=I(null,s):fe(s)?s=_[r]=I(ne,{children:s}):s.constructor===A&&s.__b?s=_[r]=I(s.type,s.props,s.key,s.ref,s.__v):_[r]=s,p=r+m,s.__=e,s.__b=e.__b+1,a=null,~(u=s.__i=Ct(s,n,p,x))&&(x--,(a=n[u])&&(a.__u|=2)),a&&a.__v?(s.__u|=16,u==p-1?m--:u==p+1?m++:u!=p&&(u>p?m--:m++,g=1)):(~u||(i>f?m--:i<f&&m++),typeof s.type!="function"&&(s.__u|=4))):_[r]=null;if(g){for(d=[],h=[],r=0;r<i;r++)if((s=_[r])&&16&s.__u){for(m=0,b=d.length;m<b;)d[l=m+b>>1]<s.__i?m=l+1:b=l;d[m]=s.__i,h[r]=m+1}for(m=d.length;r--;)h[r]&&(h[r]==m?m--:_[r].__u|=4)}if(x)for(r=0;r<f;r++)!(a=n[r])||2&a.__u||(a.__e==o&&(o=R(a)),me(a,a));return o}function Ae(e,t,n,o){var i,r,s,a;if(typeof e.type=="function"){if(e.props.__P)return t;if(i=e.__k)for(r=0;r<i.length;r++)i[r]&&(i[r].__=e,t=Ae(i[r],t,n,!1));return t}for(t&&!t.parentNode&&(t=R(e))&&!t.parentNode&&(t=null),s=e.__e,a=t;a&&a.nodeType==8;)a=a.nextSibling;for(s!=a&&(!o&&n.moveBefore&&s.parentNode?n.moveBefore(s,t):n.insertBefore(s,t||null)),t=s;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith("$s"););return t}function Ct(e,t,n,o){var i,r=e.key,s=e.type,a=t[n],p=a&&!(2&a.__u);if(a===null&&r==null||p&&r==a.key&&s==a.type)return n;if(o>(p?1:0)){for(i=n-1;i>=0;i--)if((a=t[i])&&!(2&a.__u)&&r==a.key&&s==a.type)return i;for(i=n+1;i<t.length;i++)if((a=t[i])&&!(2&a.__u)&&r==a.key&&s==a.type)return i}return-1}function Re(e,t,n){n==null&&(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function Z(e,t,n,o,i){var r,s;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||Re(e.style,t);if(n)for(t in n)o&&n[t]==o[t]||Re(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),typeof o!="function"&&(o=null),(e.__e||(e.__e={}))[t]=n,n&&o||(s=pe[t]||(pe[t]=Tt(t)),(e.__a||(e.__a={}))[t]=ue,r=t!=(t=t.replace(Ne,"$1")),(t=t.slice(2))[0]<"a"&&(t=t.toLowerCase()),n?e.addEventListener(t,s,r):e.removeEventListener(t,s,r));else{if(i=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function Tt(e){return function(t){var n=this.__e;if(n){if(n=n[e],t[X]==null)t[X]=ue++;else if(t[X]<this.__a[e])return;return n(w.event?w.event(t):t)}}}function he(e,t,n,o,i,r,s,a,p,u){var d,h,b,l,f,x,m,g,_,$,v,ce,Ce,G,M,Te,T,H,C=t.type;if(t.constructor!==A)return null;128&n.__u&&(p=32&n.__u,d=n.__c.__z)&&(t.__u|=p,h=r=[],d.nodeType==8?a=Y(d,r):r.push(d),a=r[0]||a),(d=w.__b)&&d(t);e:if(typeof C=="function"){b=s.length;try{if(g=t.props,_=(d=C.prototype)&&d.render,$=(d=C.contextType)&&o[d.__c],v=d?$?$.props.value:d.__:o,(l=n.__c)?(t.__c=l,2&l.__g&&(l.__g|=1)):(_?t.__c=l=new C(g,v):(t.__c=l=new J(g,v),l.constructor=C,l.render=Rt),$&&$.sub(l),l.state||(l.state={}),l.__n=o,l.__g|=8,l.__h=[],l.__k=[]),_&&(l.__s||(l.__s=l.state),C.getDerivedStateFromProps&&(l.__s==l.state&&(l.__s=L({},l.__s)),L(l.__s,C.getDerivedStateFromProps(g,l.__s)))),f=l.props,x=l.state,l.__v=t,n.__c){if(g!==f&&_&&!C.getDerivedStateFromProps&&l.componentWillReceiveProps&&l.componentWillReceiveProps(g,v),t.__v==n.__v&&!(8&l.__g)||!(4&l.__g)&&l.shouldComponentUpdate&&l.shouldComponentUpdate(g,l.__s,v)===!1){t.__v!=n.__v&&(l.props=g,l.state=l.__s,l.__g&=-9),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(S){S&&(S.__=t)}),te.push.apply(l.__h,l.__k),l.__k=[],l.__h.length&&s.push(l),a=R(n);break e}l.componentWillUpdate&&l.componentWillUpdate(g,l.__s,v),_&&l.componentDidUpdate&&l.__h.push(function(){l.componentDidUpdate(f,x,m)})}else _&&!C.getDerivedStateFromProps&&l.componentWillMount&&l.componentWillMount(),_&&l.componentDidMount&&l.__h.push(l.componentDidMount);l.context=v,l.props=g,l.__P=e,l.__g&=-5,ce=w.__r,Ce=_?25:0;do l.__g&=-9,ce&&ce(t),d=l.render(l.props,l.state=l.__s,l.context);while(8&l.__g&&++Ce<25);_&&(te.push.apply(l.__h,l.__k),l.__k=[]),l.state=l.__s,l.getChildContext&&(o=L({},o,l.getChildContext())),_&&n.__c&&l.getSnapshotBeforeUpdate&&(m=l.getSnapshotBeforeUpdate(f,x)),G=d&&d.type===ne&&d.key==null?d.props.children:d,g.__P&&(d=a,i=(e=g.__P).namespaceURI,p=r=null,n.props&&n.props.__P!=e&&(n.__k.some(function(S){S&&me(S,S)}),n.__k=null),a=n.__k?R(n,0):null),a=Ie(e,fe(G)?G:[G],t,n,o,i,r,s,a,p,u),g.__P&&(t.__e=null,a=d),t.__u&=-161,h&&h.some(N),l.__h.length&&s.push(l),1&l.__g&&(l.__g&=-4)}catch(S){if(s.length=b,t.__v=null,p||r)if(S&&S.then){if(t.__u|=128|p,r){for(~(T=r.indexOf(a||void 0))||(T=r.length);(H=r[T-1])&&H.nodeType==8;)T--;for(;T<r.length;T++)if(H=r[T])if(r[T]=null,M){if(H==Te)break}else{if(H.nodeType!=8)break;H.data.startsWith("$s")&&(Te=Y(M=H))}}if(!M){for(;a&&a.nodeType==8&&a.nextSibling;)a=a.nextSibling;M=a}(d=Y(M=t.__c.__z||(t.__c.__z=M)))?(t.__e=M,a=d):t.__e=a,a=a&&a.nextSibling}else r&&r.some(N);else t.__e=n.__e;t.__k||(t.__k=n.__k||[]),S&&S.then||Oe(t),w.__e(S,t,n)}}else a=t.__e=Et(n.__e,t,n,o,i,r,s,p,u,e);return(d=w.diffed)&&d(t),a}function Y(e,t){if(e&&e.nodeType==8&&e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(e)}}function Oe(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(Oe))}function je(e,t,n){for(var o=0;o<n.length;)_e(n[o++],n[o++],n[o++]);w.__c&&w.__c(t,e),e.some(function(i){try{e=i.__h,i.__h=[],e.some(function(r){r.call(i)})}catch(r){w.__e(r,i.__v)}})}function Et(e,t,n,o,i,r,s,a,p,u){var d,h,b,l,f,x,m,g,_=n.props||ee,$=t.props,v=t.type;if(v=="svg"?i="http://www.w3.org/2000/svg":v=="math"?i="http://www.w3.org/1998/Math/MathML":i||(i="http://www.w3.org/1999/xhtml"),r){for(d=0;d<r.length;d++)if((f=r[d])&&(v?f.localName==v:f.nodeType==3)){e=f,r[d]=null;break}}if(!e){if(g=u.ownerDocument||document,!v)return g.createTextNode($);e=g.createElementNS(i,v,$.is?$:u),a&&(w.__m&&w.__m(t,r),a=!1),r=null}if(v){if(u=v=="template"&&e.content||e,r=v=="textarea"&&$.defaultValue!=null?null:r&&be.call(u.childNodes),!a&&r)for(_={},d=0;d<e.attributes.length;d++)_[(f=e.attributes[d]).name]=f.value;for(d in _)f=_[d],d=="dangerouslySetInnerHTML"?b=f:d=="children"||d in $||d=="value"&&"defaultValue"in $||d=="checked"&&"defaultChecked"in $||Z(e,d,null,f,i);for(d in $)f=$[d],d=="children"?l=f:d=="dangerouslySetInnerHTML"?h=f:d=="value"?x=f:d=="checked"?m=f:a&&typeof f!="function"||_[d]===f||Z(e,d,f,_[d],i);h?(a||b&&(h.__html==b.__html||h.__html==e.innerHTML)||(e.innerHTML=h.__html),t.__k=[]):(b&&(e.textContent=""),(v=="foreignObject"||i=="http://www.w3.org/1998/Math/MathML"&&$t.test(v))&&(i="http://www.w3.org/1999/xhtml"),Ie(u,fe(l)?l:[l],t,n,o,i,r,s,r?r[0]:n.__k&&R(n,0),a,p),r&&r.some(N)),a&&v!="textarea"||(d="value",v=="progress"&&x==null?e.removeAttribute(d):x==null||x===e[d]&&(v!="progress"||x)||Z(e,d,x,_[d],i),d="checked",m!=null&&m!=e[d]&&Z(e,d,m,_[d],i))}else _===$||a&&e.data==$||(e.data=$);return e}function _e(e,t,n,o){try{typeof e=="function"?t?t.__x=e(t)||1:o&&(o=o.__c||o.__e)&&(t=o.__x)&&(o.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(i){w.__e(i,n)}}function me(e,t,n){var o,i,r,s;if(w.unmount&&w.unmount(e),!(o=e.ref)||o.current&&o.current!=e.__e||_e(o,null,t,e),o=e.__c){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(a){w.__e(a,t)}o.__P=o.__n=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&me(o[s],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(o=e.__c)&&(o=o.__z)&&(i=Y(o,r=[]))&&(o==e.__e&&r.some(N),N(i),N(o)),n||N(e.__e),e.__e=e.__c=e.__=null}function Rt(e,t,n){return this.constructor(e,n)}function we(e,t){var n,o,i,r;w.__&&w.__(e,t),t.nodeType==9&&(t=t.documentElement),o=(n=e&&32&e.__u)?null:t.__k,t.__k=I(ne,{children:[e]}),i=[],r=[],he(t,t.__k,o||ee,ee,t.namespaceURI,o?null:t.firstChild?be.call(t.childNodes):null,i,o?o.__e:t.firstChild,n,r),je(i,t.__k,r),t.__k.props.children=null}w={__e:function(e,t,n,o){for(var i,r,s;t=t.__;)if((i=t.__c)&&!(1&i.__g)){i.__g|=4;try{if((s=(r=i.constructor)&&r.getDerivedStateFromError)&&i.setState(r.getDerivedStateFromError(e)),i.componentDidCatch&&(i.componentDidCatch(e,o||{}),s=1),s&&8&i.__g)return void(i.__g|=2)}catch(a){e=a}}throw Q=0,e}},Me=0,kt=function(e){return e!=null&&e.constructor===A},J.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=L({},this.state)),typeof e=="function"&&(e=e(L({},n),this.props)),e&&(L(n,e),this.__v&&(t&&this.__k.push(t),Ee(this)))},J.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),Ee(this))},J.prototype.render=ne,E=[],Q=0,He=function(e,t){return e.__v.__b-t.__v.__b},X=Symbol(),Ne=/(PointerCapture)$|Capture$/i,ue=0,pe={},yt=0;var ze=function(e,t,n,o){var i;t[0]=0;for(var r=1;r<t.length;r++){var s=t[r++],a=t[r]?(t[0]|=s?1:2,n[t[r++]]):t[++r];s===3?o[0]=a:s===4?o[1]=Object.assign(o[1]||{},a):s===5?(o[1]=o[1]||{})[t[++r]]=a:s===6?o[1][t[++r]]+=a+"":s?(i=e.apply(a,ze(e,a,n,["",null])),o.push(i),a[0]?t[0]|=2:(t[r-2]=0,t[r]=i)):o.push(a)}return o},Fe=new Map;function Ke(e){var t=Fe.get(this);return t||(t=new Map,Fe.set(this,t)),(t=ze(this,t.get(e)||(t.set(e,t=(function(n){for(var o,i,r=1,s="",a="",p=[0],u=function(b){r===1&&(b||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?p.push(0,b,s):r===3&&(b||s)?(p.push(3,b,s),r=2):r===2&&s==="..."&&b?p.push(4,b,0):r===2&&s&&!b?p.push(5,0,!0,s):r>=5&&((s||!b&&r===5)&&(p.push(r,0,s,i),r=6),b&&(p.push(r,b,0,i),r=6)),s=""},d=0;d<n.length;d++){d&&(r===1&&u(),u(d));for(var h=0;h<n[d].length;h++)o=n[d][h],r===1?o==="<"?(u(),p=[p],r=3):s+=o:r===4?s==="--"&&o===">"?(r=1,s=""):s=o+s[0]:a?o===a?a="":s+=o:o==='"'||o==="'"?a=o:o===">"?(u(),r=1):r&&(o==="="?(r=5,i=s,s=""):o==="/"&&(r<5||n[d][h+1]===">")?(u(),r===3&&(p=p[0]),r=p,(p=p[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(u(),r=2):s+=o),r===3&&s==="!--"&&(r=4,p=p[0])}return u(),p})(e)),t),arguments,[])).length>1?t:t[0]}var c=Ke.bind(Le);function P(e,t){return`${e.toLocaleString("en")} ${t}${e===1?"":"s"}`}function O(e){return e>=1e3?`${(e/1e3).toFixed(2)} s`:e>=10?`${e.toFixed(0)} ms`:e>=.1?`${e.toFixed(1)} ms`:`${(e*1e3).toFixed(0)} µs`}function j({error:e,close:t}){let n=["where","found","expected","fix","kept"].filter(o=>e[o]);return c`<div class="wb-problem" role="alert">
    <div class="wb-problem-head">
      <span class="wb-code">${e.code}</span><span>${e.message}</span>
      ${t&&c`<button class="wb-icon" aria-label="Close the message" title="Close" onClick=${t}>×</button>`}
    </div>
    <dl>${n.map(o=>c`<dt>${o}</dt><dd>${e[o]}</dd>`)}</dl>
  </div>`}function oe({rows:e,close:t}){return c`<div class="wb-sheet" role="dialog" aria-label="Keys">
    <div class="wb-sheet-head"><strong>Keys</strong>
      <button class="wb-icon" aria-label="Close" onClick=${t}>×</button></div>
    <dl>${e.map(([n,o])=>c`<dt>${n.split(" ").map(i=>c`<kbd>${i}</kbd>`)}</dt><dd>${o}</dd>`)}</dl>
  </div>`}var z,y,ge,Ue,ve=Object.is,xe=0,Qe=[],ke=[],k=w,We=k.__b,Be=k.__r,qe=k.diffed,Ge=k.__c,Ze=k.unmount,Xe=k.__;function $e(e,t){k.__h&&k.__h(y,e,xe||t),xe=0;var n=y.__H||(y.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function et(e,t,n){var o=$e(z++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):Lt(void 0,t),function(r){var s=(o.__N||o.__)[0],a=o.t(s,r);ve(s,a)||(o.__N=[a,o.__[1]],o.__c.setState({}))}],o.__c=y,!y.__f)){y.__f=!0;var i=y.shouldComponentUpdate;y.shouldComponentUpdate=function(r,s,a){var p=this.__H;if(!p)return!0;var u=!1,d=this.props!=r;if(p.__.some(function(b){b.__N&&(u=!0,ve(b.__[0],b.__N[0])||(d=!0))}),i){var h=i.call(this,r,s,a);return u?h||d:h}return!u||d}}return o.__}function V(e,t){var n=$e(z++,3);!k.__s&&tt(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,y.__H.__h.push(n))}function K(e){return xe=5,Mt(function(){return{current:e}},[])}function Mt(e,t){var n=$e(z++,7);return tt(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function Ht(){var e;do{for(;e=ke.shift();)try{F(e)}catch(n){k.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=Qe.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(F),t.__h.some(ye),t.__h=[]}catch(n){t.__h=[],k.__e(n,e.__v)}}}while(ke.length)}k.__b=function(e){y=null,We&&We(e)},k.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Xe&&Xe(e,t)},k.__r=function(e){Be&&Be(e),z=0;var t=(y=e.__c).__H;t&&(ge==y?y.__h=[]:(t.__h.some(F),t.__h.some(ye),z=0),t.__h=[],t.__.some(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})),ge=y},k.diffed=function(e){qe&&qe(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Ye(Qe.push(t)),t.__H.__.some(function(n){n.u&&(n.__H=n.u)})),ge=y=null},k.__c=function(e,t){t.some(function(n){try{n.__h.some(F),n.__h=n.__h.filter(function(o){return!o.__||ye(o)})}catch(o){n.__h=[function(){throw o}]}}),Ge&&Ge(e,t)},k.unmount=function(e){Ze&&Ze(e);var t,n,o=e.__c;o&&o.__H&&(o.__H.__.some(function(i){try{if(i.__P&&i.__c){if(n===void 0){for(n=e.__;n&&(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}i.__P=n,Ye(ke.push(i))}else F(i)}catch(r){t=r}}),o.__H=void 0,t&&k.__e(t,o.__v))};var Je=typeof requestAnimationFrame=="function";function Nt(e){var t,n=function(){clearTimeout(o),Je&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);Je&&(t=requestAnimationFrame(n))}function Ye(e){e!=1&&Ue==k.requestAnimationFrame||((Ue=k.requestAnimationFrame)||Nt)(Ht)}function F(e){var t=y,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),y=t}function ye(e){var t=y;e.__c=e.__(),y=t}function tt(e,t){return!e||e.length!=t.length||t.some(function(n,o){return!ve(n,e[o])})}function Lt(e,t){return typeof t=="function"?t(e):t}var U=class{known=new Map;total;constructor(t){this.total=t.total;for(let n of t.chunks)this.add(n.start,n.lines)}add(t,n){n.forEach((o,i)=>this.known.set(t+i,o))}at(t){return this.known.get(t)}};function nt(e,t,n,o){let i=[],r=0,s=0;for(let a of[...n,{before_start:e.total,before_count:0,after_start:t.total,after_count:0}]){Vt(i,t,r,s,a.after_start-s,s>0||r>0,a.after_start<t.total||a.after_count>0,o);for(let p=0;p<a.before_count;p++){let u=p<a.after_count?t.at(a.after_start+p):void 0;i.push({kind:"del",before:a.before_start+p,after:-1,text:e.at(a.before_start+p)??"…",pair:u})}for(let p=0;p<a.after_count;p++){let u=p<a.before_count?e.at(a.before_start+p):void 0;i.push({kind:"add",before:-1,after:a.after_start+p,text:t.at(a.after_start+p)??"…",pair:u})}r=a.before_start+a.before_count,s=a.after_start+a.after_count}return i.length<=4e3?i:[...i.slice(0,4e3),{kind:"cut",count:i.length-4e3}]}function Vt(e,t,n,o,i,r,s,a){let u=!r&&!s?60:r?4:0,d=s?4:0,h=i>u+d+3,b=0,l=f=>{b&&e.push({kind:"fold",before:n+f-b,after:o+f-b,count:b}),b=0};for(let f=0;f<i;f++){let x=t.at(o+f);if(!(!h||f<u||f>=i-d||a.has(o+f))||x===void 0){b++;continue}l(f),e.push({kind:"same",before:n+f,after:o+f,text:x})}l(i)}var Dt=new Set("def return for in if elif else while with as import from class lambda not and or is None True False let fn define declare ret br call load store getelementptr phi label".split(" ")),It={python:"#.*$",llvm:";.*$",asm:"#.*$|\\/\\/.*$",text:"$^"},At=`("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')|(\\b\\d[\\w.+]*)|([%@]?[A-Za-z_][\\w.]*)|(\\s+|.)`,ot=Object.fromEntries(Object.entries(It).map(([e,t])=>[e,new RegExp(`(${t})|${At}`,"g")])),Ot=2e3,jt=.7;function Se(e,t){if(e.length>Ot)return[["",e]];let n=[];for(let o of e.matchAll(ot[t]??ot.text)){let[i,r,s,a,p]=o;r?n.push(["com",i]):s?n.push(["str",i]):a?n.push(["num",i]):p&&Dt.has(p)?n.push(["key",i]):p&&e[o.index+p.length]==="("?n.push(["fun",i]):n.push(["",i])}return n}function rt(e,t){let n=0,o=Math.min(e.length,t.length);for(;n<o&&e[n]===t[n];)n++;let i=0;for(;i<o-n&&e[e.length-1-i]===t[t.length-1-i];)i++;let r=a=>/[\w.]/.test(e[a]??" ");for(;n>0&&r(n-1)&&r(n);)n--;for(;i>0&&r(e.length-i)&&r(e.length-i-1);)i--;let s=Math.max(n,e.length-i);return s-n>jt*e.trim().length?[0,0]:[n,s]}function it(e,t,n,o){let i=[],r=0;for(let[s,a]of Se(e,t)){let p=[0,n-r,o-r,a.length].map(u=>Math.min(Math.max(u,0),a.length));for(let u=0;u<3;u++){let[d,h]=[p[u],p[u+1]];h>d&&i.push([[s,a.slice(d,h)],u===1])}r+=a.length}return i}function at({rows:e,split:t,language:n,open:o}){let i=t?zt(e,n,o):e.map(r=>Ft(r,n,o));return c`<div class=${`wb-diff ${t?"wb-split":""}`} role="region" aria-label="The program before and after" tabindex="0">
    <div class="wb-rows">${i}</div>
  </div>`}function Ft(e,t,n){if(e.kind==="fold")return ct(e,n);if(e.kind==="cut")return dt(e.count);let o=e.kind==="add"?"+":e.kind==="del"?"−":"";return c`<div class=${`wb-row wb-${e.kind}`}>
    <span class="wb-no">${e.before>=0?e.before+1:""}</span>
    <span class="wb-no">${e.after>=0?e.after+1:""}</span>
    <span class="wb-sign">${o}</span>${lt(e,t)}
  </div>`}function zt(e,t,n){let o=[],i=0;for(;i<e.length;){let r=e[i];if(r.kind==="fold"?o.push(ct(r,n)):r.kind==="cut"&&o.push(dt(r.count)),r.kind==="fold"||r.kind==="cut"){i++;continue}if(r.kind==="same"){o.push(c`<div class="wb-row wb-same">${re(r,r.before,t)}${re(r,r.after,t)}</div>`),i++;continue}let s=st(e,i,"del"),a=st(e,i+s.length,"add");for(let p=0;p<Math.max(s.length,a.length);p++){let[u,d]=[s[p],a[p]];o.push(c`<div class="wb-row">
        ${re(u,u?.before??-1,t)}${re(d,d?.after??-1,t)}</div>`)}i+=s.length+a.length}return o}function st(e,t,n){let o=t;for(;o<e.length&&e[o].kind===n;)o++;return e.slice(t,o)}function re(e,t,n){if(!e)return c`<span class="wb-half wb-none"></span>`;let o=e.kind==="add"?"+":e.kind==="del"?"−":"";return c`<span class=${`wb-half wb-${e.kind}`}>
    <span class="wb-no">${t+1}</span><span class="wb-sign">${o}</span>${lt(e,n)}</span>`}function lt(e,t){let[n,o]=e.pair===void 0?[0,0]:rt(e.text,e.pair),i=it(e.text,t,n,o).map(([[r,s],a])=>r||a?c`<span class=${`${r?`wb-t-${r}`:""} ${a?"wb-mark":""}`}>${s}</span>`:s);return e.kind==="add"?c`<ins class="wb-line">${i}</ins>`:e.kind==="del"?c`<del class="wb-line">${i}</del>`:c`<span class="wb-line">${i}</span>`}function ct(e,t){return c`<button class="wb-fold" onClick=${()=>t(e)}>⋯ ${P(e.count,"unchanged line")}</button>`}function dt(e){return c`<div class="wb-fold">${P(e,"more row")} not drawn: look at a smaller part</div>`}var Kt={BracketLeft:"[",BracketRight:"]",Slash:"/"};function Ut(e){let t=e.key.length===1?e.key.toLowerCase():e.key;return e.ctrlKey||e.metaKey?e.altKey?[t]:[`mod+${e.shiftKey?"shift+":""}${t}`]:e.altKey?"[]/".includes(t)?[t]:[]:[t,e.shiftKey?"":Kt[e.code]??""]}function Wt(e){return e instanceof HTMLElement&&e.matches("input:not([type=range]):not([type=checkbox]), select, textarea")}function ie(e){return t=>{if(t.isComposing||t.defaultPrevented)return;if(t.key==="Escape"){Bt(t.currentTarget),t.stopPropagation();return}if(Wt(t.target))return;let n=Ut(t).map(o=>e[o]).find(Boolean);n&&(t.preventDefault(),t.stopPropagation(),n())}}function Bt(e){let t=e.parentElement?.closest(".jp-Notebook, [tabindex]");document.activeElement instanceof HTMLElement&&document.activeElement.blur(),t?.focus({preventScroll:!0})}var W=class extends Error{constructor(n){super(n.message);this.view=n}view},B=class extends Error{};async function qt(e){let t=new Uint8Array(e.buffer,e.byteOffset,e.byteLength),n=new Blob([t]).stream().pipeThrough(new DecompressionStream("gzip"));return await new Response(n).text()}var se=class{constructor(t){this.host=t;t.on("msg:custom",this.receive)}host;pending=new Map;next=Math.floor(Math.random()*2**40)*1024;onEvent=()=>{};onBusy=()=>{};close(){this.host.off("msg:custom",this.receive)}request(t,n={},o="",i=""){o&&this.overtake(o);let r=this.next++;return new Promise((s,a)=>{this.pending.set(r,{resolve:s,reject:a,channel:o}),this.host.send({v:1,id:r,op:t,state:i,args:n}),setTimeout(()=>{this.pending.has(r)&&this.onBusy(!0)},800)})}overtake(t){for(let[n,o]of this.pending)o.channel===t&&(this.pending.delete(n),o.reject(new B))}receive=async(t,n)=>{let o=t;if(typeof o!="object"||o===null||o.v!==1)return;if(typeof o.event=="string"){this.onEvent(o.event,o.args??{});return}let i=o.id,r=typeof i=="number"?this.pending.get(i):void 0;if(!r)return;if(this.pending.delete(i),this.pending.size===0&&this.onBusy(!1),!o.ok){r.reject(new W(o.err));return}let s=o.packed&&n[0]?JSON.parse(await qt(n[0])):o.view;r.resolve({state:String(o.state??""),view:s,buffers:n})}};var D=class{connection;listeners=new Set;problem=null;busy=!1;help=!1;constructor(t){this.connection=new se(t),this.connection.onBusy=n=>this.set(()=>this.busy=n)}subscribe(t){return this.listeners.add(t),()=>this.listeners.delete(t)}set(t){t();for(let n of this.listeners)n()}async attempt(t){try{await t()}catch(n){if(n instanceof B)return;let o=n instanceof W?n.view:{code:"E-UI-PAGE",message:"the page failed to show this",where:"",found:String(n),expected:"",fix:"run the cell again",kept:"the program is unchanged",nodes:[]};this.set(()=>this.problem=o)}}};function ae(e){let[,t]=et(n=>n+1,0);V(()=>(t(void 0),e.subscribe(()=>t(void 0))),[e])}var Zt=20,Xt={import:"Import",relay:"Relay",te:"Tensor expressions",schedule:"Schedule",tune:"Tuning",tir:"Loops (TIR)",codegen:"Code",run:"Run",edit:"Edits by hand"};function pt(e){return{before:new U(e.before),after:new U(e.after),hunks:e.hunks,opened:new Set}}var le=class extends D{view=null;selected="";rewriteIndex=null;onlyChanged=!1;split=!1;generation=0;steps=new Map;rewrites=new Map;constructor(t){super(t),this.connection.onEvent=(n,o)=>{n==="changed"&&this.open(),n==="select"&&this.select(String(o.step),o.rewrite??null,!1)},this.open()}get steps_shown(){let t=this.view?.steps??[];return this.onlyChanged?t.filter(n=>n.changed||n.error||n.id===this.selected):t}get summary(){return this.view?.steps.find(t=>t.id===this.selected)}get step(){return this.steps.get(this.selected)}get rewrite(){return this.rewriteIndex===null?void 0:this.rewrites.get(`${this.selected}/${this.rewriteIndex}`)}open=()=>this.attempt(async()=>{let n=(await this.connection.request("open",{},"open")).view,o=new Set(n.steps.map(a=>a.id));this.generation++,this.steps.clear(),this.rewrites.clear(),this.set(()=>this.view=n);let i=[this.selected,n.selected.step].find(a=>o.has(a)),r=n.steps.find(a=>a.changed)??n.steps[0],s=i&&i===n.selected.step?n.selected.rewrite:null;(i??r)&&this.select(i??r.id,s,!1)});select(t,n=null,o=!0){this.view?.steps.some(i=>i.id===t)&&(this.set(()=>{this.selected=t,this.rewriteIndex=n,this.problem=null}),this.load(),o&&this.connection.request("select",{step:t,rewrite:n},"select").catch(()=>{}))}load=()=>this.attempt(async()=>{let[t,n]=[this.selected,this.generation];if(!this.steps.has(t)){let i=await this.connection.request("step",{step:t},"step");this.keep(i.view,n)}let o=this.rewriteIndex;if(o!==null&&!this.rewrites.has(`${t}/${o}`)){let r=(await this.connection.request("rewrite",{step:t,index:o},"rewrite")).view;n===this.generation&&this.set(()=>this.rewrites.set(`${t}/${o}`,{...r,shown:pt(r)}))}await this.prefetch()});keep(t,n){n===this.generation&&this.set(()=>this.steps.set(t.id,{...t,shown:pt(t)}))}async prefetch(){let t=this.steps_shown.map(s=>s.id),n=t.indexOf(this.selected),o=t.map((s,a)=>({id:s,far:Math.abs(a-n)})).filter(({id:s,far:a})=>a<=Zt&&!this.steps.has(s)).sort((s,a)=>s.far-a.far).map(({id:s})=>s);if(o.length===0)return;let i=this.generation,r=await this.connection.request("steps",{steps:o},"prefetch");for(let s of r.view.steps)this.keep(s,i)}move(t){let n=this.steps_shown,o=n[n.findIndex(i=>i.id===this.selected)+t];o&&this.select(o.id)}moveRewrite(t){let n=this.step?.rewrite_count??0,o=this.rewriteIndex??-1,i=Math.min(Math.max(o+t,-1),n-1);i!==o&&this.select(this.selected,i<0?null:i)}unfold=t=>this.attempt(async()=>{let n=this.rewrite?.shown??this.step?.shown;if(!n)return;let o=Math.min(t.count,200);if([...Array(o).keys()].some(r=>n.after.at(t.after+r)===void 0)){let r={step:this.selected,side:"after",start:t.after,count:o},s=(await this.connection.request("text",r)).view;n.after.add(s.start,s.lines)}this.set(()=>{for(let r=0;r<o;r++)n.opened.add(t.after+r)})})},Jt=[["← →","previous, next rewrite inside the step"],["[ ]","previous, next step"],["↑ ↓","move in the list of steps"],["c","only steps that changed the program"],["d","one column or two"],["?","this sheet"],["Esc","back to the notebook"]];function ut({store:e}){ae(e);let t=ie({ArrowLeft:()=>e.moveRewrite(-1),ArrowRight:()=>e.moveRewrite(1),ArrowUp:()=>e.move(-1),ArrowDown:()=>e.move(1),"[":()=>e.move(-1),"]":()=>e.move(1),c:()=>e.set(()=>e.onlyChanged=!e.onlyChanged),d:()=>e.set(()=>e.split=!e.split),"?":()=>e.set(()=>e.help=!e.help)});return c`<div class="wb wb-pipeline" data-lm-suppress-shortcuts="true" role="group" aria-label="Pipeline stepper"
      onKeyDown=${t}>
    <${Yt} store=${e} />
    <div class="wb-columns"><${Qt} store=${e} /><${tn} store=${e} /></div>
    ${e.help&&c`<${oe} rows=${Jt} close=${()=>e.set(()=>e.help=!1)} />`}
  </div>`}function Yt({store:e}){let t=e.view?.steps??[],n=t.reduce((i,r)=>i+r.milliseconds,0),o=t.filter(i=>i.changed).length;return c`<header class="wb-head">
    <span class="wb-title">${e.view?.title||"Pipeline"}</span>
    <span class="wb-muted">${P(t.length,"step")} · ${o} changed the program · ${O(n)}</span>
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
  </header>`}function Qt({store:e}){let t=K(null);V(()=>{t.current?.querySelector("[aria-selected=true]")?.scrollIntoView({block:"nearest"})},[e.selected,e.onlyChanged]);let n=Math.max(1e-6,...(e.view?.steps??[]).map(r=>r.milliseconds)),o="",i=e.steps_shown.map(r=>{let s=[Xt[r.kind]??r.kind,r.group].filter(Boolean).join(" · "),a=s!==o;return o=s,c`${a&&c`<div class="wb-heading" role="presentation">${s}</div>`}
      <${en} key=${r.id} step=${r} store=${e} share=${r.milliseconds/n} />`});return c`<div class="wb-list" role="listbox" aria-label="Steps" tabindex="0" ref=${t}
    aria-activedescendant=${e.selected?ft(e.selected):void 0}>${i}</div>`}var ft=e=>`wb-step-${e}`;function en({step:e,store:t,share:n}){let o=e.ops_after-e.ops_before,i=e.error?"error":e.changed?"changed":"same",r={error:"failed",changed:"changed the program",same:"changed nothing"}[i];return c`<div id=${ft(e.id)} class=${`wb-item wb-is-${i}`} role="option" title=${e.note||void 0}
      aria-selected=${e.id===t.selected} onClick=${()=>t.select(e.id)}>
    <span class="wb-dot" aria-hidden="true"></span>
    <span class="wb-name">${e.name}</span><span class="wb-hidden"> (${r})</span>
    ${o!==0&&c`<span class="wb-delta">${o>0?"+":"−"}${Math.abs(o)}<span class="wb-hidden"> operations</span></span>`}
    <span class="wb-time">${O(e.milliseconds)}</span>
    <span class="wb-bar" aria-hidden="true" style=${{width:`${Math.round(n*100)}%`}}></span>
  </div>`}function tn({store:e}){let{summary:t,step:n,rewrite:o}=e,i=e.rewriteIndex===null?n?.shown:o?.shown,r=i&&nt(i.before,i.after,i.hunks,i.opened);return c`<section class="wb-detail" aria-label="The selected step">
    ${t&&c`<div class="wb-step-head">
      <span class="wb-step-name">${t.name}</span>
      <span class="wb-muted">${nn(t)}</span>
      ${n?.call&&c`<code class="wb-call" title="The same in Python">${n.call}</code>`}
    </div>`}
    ${e.problem&&c`<${j} error=${e.problem} close=${()=>e.set(()=>e.problem=null)} />`}
    ${t?.error&&c`<${j} error=${t.error} />`}
    ${(t?.rewrite_count??0)>0&&c`<${on} store=${e} count=${t.rewrite_count} />`}
    ${r?c`<${at} rows=${r} split=${e.split} language=${n?.language??"python"} before=${i.before}
          after=${i.after} open=${e.unfold} />`:c`<div class="wb-wait">${e.view&&!t?"No steps.":"…"}</div>`}
  </section>`}function nn(e){let n=[e.ops_before===e.ops_after?P(e.ops_after,"op"):`${e.ops_before} → ${e.ops_after} ops`,O(e.milliseconds)];return e.rewrite_count&&n.splice(1,0,P(e.rewrite_count,"rewrite")),!e.changed&&!e.error&&n.unshift("changed nothing"),[...n,e.note].filter(Boolean).join(" · ")}function on({store:e,count:t}){let n=e.rewriteIndex,o=n===null?void 0:e.rewrite?.rewrite??e.step?.rewrites[n],i=r=>e.select(e.selected,r<0?null:r);return c`<div class="wb-rewrites">
    <div class="wb-scrub">
      <button class="wb-button" aria-label="Previous rewrite" title="Previous rewrite (←)" disabled=${n===null}
        onClick=${()=>e.moveRewrite(-1)}>←</button>
      <input type="range" min="-1" max=${t-1} value=${n??-1} aria-label="Rewrite"
        aria-valuetext=${n===null?"the whole step":`rewrite ${n+1} of ${t}`}
        onInput=${r=>i(Number(r.target.value))} />
      <button class="wb-button" aria-label="Next rewrite" title="Next rewrite (→)" disabled=${n===t-1}
        onClick=${()=>e.moveRewrite(1)}>→</button>
      <span class="wb-count" aria-live="polite">${n===null?`whole step · ${P(t,"rewrite")}`:`rewrite ${n+1} of ${t}`}</span>
    </div>
    ${o&&c`<div class="wb-rule">
      <span class="wb-rule-name">${o.rule}</span>
      <span class="wb-source">${o.source}</span>
      ${o.where&&c`<span class="wb-muted">at ${o.where}</span>`}
      <span class="wb-muted">${O(o.microseconds/1e3)}</span>
    </div>`}
    ${o&&e.rewrite&&c`<${rn} view=${e.rewrite} />`}
  </div>`}function rn({view:e}){return!e.why&&e.bindings.length===0&&!e.rule_text?null:c`<div class="wb-why">
    ${e.why&&c`<div>${e.why}</div>`}
    ${e.bindings.length>0&&c`<dl class="wb-bindings">
      ${e.bindings.map(([t,n])=>c`<dt>${t}</dt><dd>${n}</dd>`)}</dl>`}
    ${e.rule_text&&c`<details><summary>The rule</summary><pre>${e.rule_text}</pre></details>`}
  </div>`}function bt(e,t){let n={};for(let o of e.parameters){if(o.kind==="selection")continue;let i=["loop","block","choice","buffer"].includes(o.kind)?ht(o,t)[0]?.[0]:null;n[o.name]=o.default??(o.kind==="boolean"?!1:i??null)}return n}function ht(e,t){let n=i=>i.extent?`${i.name}  (${i.extent})`:i.name,o=new Map(t.map(i=>[i.id,n(i)]));return e.choices.length>0?e.choices.map(i=>[i,o.get(i)??i]):t.filter(i=>i.kind===e.kind).map(i=>[i.id,n(i)])}function _t({primitive:e,nodes:t,values:n,busy:o,change:i,apply:r}){let s=e.parameters.filter(p=>p.kind!=="selection");return c`<form class="wb-form" onSubmit=${p=>{p.preventDefault(),r()}} aria-label=${`Arguments of ${e.name}`}>
    ${s.map(p=>c`<label class="wb-field" key=${p.name}>
      <span class="wb-field-name">${p.name}</span>
      <${sn} parameter=${p} nodes=${t} value=${n[p.name]} change=${i} />
      ${p.doc&&c`<span class="wb-muted">${p.doc}</span>`}
    </label>`)}
    <button class="wb-button wb-primary" type="submit" disabled=${o}>Apply</button>
  </form>`}function sn({parameter:e,nodes:t,value:n,change:o}){let i=s=>o(e.name,s),r=s=>s.target.value;switch(e.kind){case"loop":case"block":case"buffer":case"choice":return c`<select value=${n} onChange=${s=>i(r(s))}>
        ${ht(e,t).map(([s,a])=>c`<option value=${s}>${a}</option>`)}</select>`;case"loops":return c`<${cn} parameter=${e} nodes=${t} value=${n??[]} set=${i} />`;case"integer":case"number":return c`<input type="number" step=${e.kind==="integer"?1:"any"} value=${n??""}
        onInput=${s=>i(r(s)===""?null:Number(r(s)))} />`;case"integers":return c`<input type="text" value=${an(n)} placeholder="auto, 8" spellcheck=${!1}
        onChange=${s=>i(ln(r(s)))} />`;case"boolean":return c`<input type="checkbox" checked=${n===!0}
        onChange=${s=>i(s.target.checked)} />`;default:return c`<input type="text" value=${n??""} spellcheck=${!1} onInput=${s=>i(r(s))} />`}}function an(e){return Array.isArray(e)?e.map(t=>t??"auto").join(", "):""}function ln(e){return e.split(/[\s,]+/).filter(Boolean).map(n=>/^(auto|none|\?|_)$/i.test(n)?null:/^-?\d+$/.test(n)?Number(n):n)}function cn({nodes:e,value:t,set:n}){let o=new Map(e.map(r=>[r.id,r.name])),i=(r,s)=>{let a=[...t];[a[r],a[s]]=[a[s],a[r]],n(a)};return c`<span class="wb-order" role="list">${t.map((r,s)=>c`<span class="wb-order-item" role="listitem" key=${r}>
    <button type="button" class="wb-icon" aria-label=${`Move ${o.get(r)??r} outwards`} disabled=${s===0}
      onClick=${()=>i(s,s-1)}>‹</button>
    <code>${o.get(r)??r}</code>
    <button type="button" class="wb-icon" aria-label=${`Move ${o.get(r)??r} inwards`} disabled=${s===t.length-1}
      onClick=${()=>i(s,s+1)}>›</button></span>`)}</span>`}var q=class extends D{view=null;selected="";chosen="";values={};filter="";working=!1;constructor(t){super(t),this.connection.onEvent=n=>{n==="changed"&&!this.working&&this.open()},this.open()}get nodes(){let t=[],n=[...this.view?.tree??[]].reverse();for(let o=n.pop();o;o=n.pop())t.push(o),n.push(...[...o.children].reverse());return t}get node(){return this.nodes.find(t=>t.id===this.selected)}open=()=>this.attempt(async()=>this.show((await this.connection.request("open",{},"open")).view));show(t){this.set(()=>{this.view=t,this.problem=null,this.chosen="",this.node||(this.selected=this.nodes.find(n=>n.kind==="loop")?.id??this.nodes[0]?.id??"")})}select(t){this.set(()=>{t!==this.selected&&(this.chosen=""),this.selected=t,this.problem=null})}choose(t){this.set(()=>{this.problem=null,this.chosen=this.chosen===t.name?"":t.name,this.values=bt(t,this.nodes)});let n=t.parameters.some(o=>o.kind!=="selection");this.chosen&&!n&&this.apply(t)}apply=t=>this.command("apply",{primitive:t.name,selection:this.selected,arguments:this.values});undo=()=>this.view?.can_undo?this.command("undo",{}):Promise.resolve();redo=()=>this.view?.can_redo?this.command("redo",{}):Promise.resolve();command(t,n){return this.working?Promise.resolve():(this.set(()=>this.working=!0),this.attempt(async()=>{let o=this.view?.state??"";this.show((await this.connection.request(t,{...n,seen:o},"command",o)).view)}).finally(()=>this.set(()=>this.working=!1)))}walk(t){let n=this.nodes,o=n.findIndex(r=>r.id===this.selected),i={next:n[o+1],previous:n[o-1],out:n.find(r=>r.children.some(s=>s.id===this.selected)),in:n[o]?.children[0]}[t];i&&this.select(i.id)}},dn=[["↑ ↓","previous, next box of the tree"],["← →","out to the box around, in to the first box inside"],["/","find a primitive"],["Ctrl+Z","undo (Cmd on macOS)"],["Ctrl+Shift+Z","redo"],["?","this sheet"],["Esc","back to the notebook"]];function wt({store:e}){ae(e);let t=K(null),n=ie({ArrowUp:()=>e.walk("previous"),ArrowDown:()=>e.walk("next"),ArrowLeft:()=>e.walk("out"),ArrowRight:()=>e.walk("in"),"/":()=>t.current?.querySelector(".wb-filter")?.focus(),"mod+z":()=>{e.undo()},"mod+shift+z":()=>{e.redo()},"?":()=>e.set(()=>e.help=!e.help)});return c`<div class="wb wb-schedule" data-lm-suppress-shortcuts="true" role="group" aria-label="Schedule editor"
      aria-busy=${e.working} onKeyDown=${n} ref=${t}>
    <${pn} store=${e} />
    <div class="wb-columns"><${fn} store=${e} /><${hn} store=${e} /></div>
    <${mn} store=${e} />
    ${e.help&&c`<${oe} rows=${dn} close=${()=>e.set(()=>e.help=!1)} />`}
  </div>`}function pn({store:e}){let t=e.view,n=e.nodes.filter(o=>o.kind==="loop").length;return c`<header class="wb-head">
    <span class="wb-title">${t?.name||"Schedule"}</span>
    <span class="wb-muted">${P(n,"loop")}${t&&t.history.length>0?` · step ${t.position} of ${t.history.length}`:""}</span>
    ${(e.busy||e.working)&&c`<span class="wb-busy" role="status">${e.busy?"kernel busy":"applying"}</span>`}
    <span class="wb-space"></span>
    <span class="wb-group">
      <button class="wb-button" title="Undo (Ctrl+Z)" disabled=${!t?.can_undo} onClick=${e.undo}>Undo</button>
      <button class="wb-button" title="Redo (Ctrl+Shift+Z)" disabled=${!t?.can_redo} onClick=${e.redo}>Redo</button>
    </span>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${()=>e.set(()=>e.help=!e.help)}>?</button>
  </header>`}var un={parallel:"∥",vectorized:"⇶",unrolled:"↻",thread:"▦",serial:""};function fn({store:e}){let t=K(null);return V(()=>{t.current?.querySelector("[aria-selected=true] > .wb-box-head")?.scrollIntoView({block:"nearest",inline:"nearest"})},[e.selected]),c`<div class="wb-tree" role="tree" aria-label="Loop tree" tabindex="0" ref=${t}
      aria-activedescendant=${e.selected?gt(e.selected):void 0}>
    ${(e.view?.tree??[]).map(n=>c`<${vt} key=${n.id} node=${n} store=${e} />`)}
  </div>`}var gt=e=>`wb-node-${e}`;function vt({node:e,store:t}){let n=t.problem?.nodes.includes(e.id)??!1,o=e.kind==="loop"?e.loop_kind:e.kind,i=r=>{r.stopPropagation(),t.select(e.id)};return c`<div id=${gt(e.id)} class=${`wb-box wb-k-${o} ${n?"wb-blamed":""}`} role="treeitem"
      aria-selected=${e.id===t.selected} aria-expanded=${e.children.length>0?!0:void 0} onClick=${i}>
    <div class="wb-box-head">
      ${e.kind==="loop"?c`<span class="wb-iter">${e.name}</span>`:c`<span class="wb-block-name">${e.name}</span>`}
      ${e.extent&&c`<span class="wb-extent">${e.extent}</span>`}
      ${e.kind==="loop"&&e.loop_kind!=="serial"&&c`<span class="wb-chip">
        <span aria-hidden="true">${un[e.loop_kind]??""}</span> ${e.loop_kind}</span>`}
      ${e.reduction&&c`<span class="wb-chip wb-chip-sum"><span aria-hidden="true">Σ</span> reduction</span>`}
      ${e.detail&&c`<code class="wb-detail-text">${e.detail}</code>`}
    </div>
    ${e.children.length>0&&c`<div class="wb-inside" role="group">
      ${e.children.map(r=>c`<${vt} key=${r.id} node=${r} store=${t} />`)}</div>`}
  </div>`}function bn(e,t){let n=e.applicable[t.id];return n===void 0?`not for a ${t.kind}`:n}function hn({store:e}){let t=e.node,n=e.filter.trim().toLowerCase(),o=(e.view?.primitives??[]).filter(a=>a.name.toLowerCase().includes(n)),i=t?o.map(a=>({primitive:a,reason:bn(a,t)})):[],r=i.filter(({reason:a})=>a===null),s=i.filter(({reason:a})=>a!==null);return c`<section class="wb-panel" aria-label="Primitives">
    <div class="wb-panel-head">
      <span>${t?c`For ${t.kind} <code class="wb-iter">${t.name}</code>`:"Select a loop or a block"}</span>
      <input class="wb-filter" type="search" placeholder="Find ( / )" aria-label="Find a primitive" value=${e.filter}
        onInput=${a=>e.set(()=>e.filter=a.target.value)} />
    </div>
    ${e.problem&&c`<${j} error=${e.problem} close=${()=>e.set(()=>e.problem=null)} />`}
    <div class="wb-primitives">
      ${r.map(({primitive:a})=>c`<${_n} key=${a.name} primitive=${a} store=${e} />`)}
      ${s.length>0&&c`<div class="wb-heading">Not here, and why</div>`}
      ${s.map(({primitive:a,reason:p})=>c`<div class="wb-primitive wb-off" key=${a.name}>
        <button aria-disabled="true" aria-describedby=${`wb-why-${a.name}`}>${a.name}</button>
        <span id=${`wb-why-${a.name}`} class="wb-reason">${p}</span></div>`)}
    </div>
  </section>`}function _n({primitive:e,store:t}){let n=t.chosen===e.name;return c`<div class=${`wb-primitive ${n?"wb-open":""}`}>
    <button aria-expanded=${n} onClick=${()=>t.choose(e)}>${e.name}</button>
    <span class="wb-doc">${e.doc}</span>
    ${n&&c`<${_t} primitive=${e} nodes=${t.nodes} values=${t.values} busy=${t.working}
      change=${(o,i)=>t.set(()=>t.values={...t.values,[o]:i})}
      apply=${()=>t.apply(e)} />`}
  </div>`}function mn({store:e}){let t=e.view;if(!t)return null;let n=t.code.replace(/\n$/,"").split(`
`),o=t.script.chunks.flatMap(i=>i.lines);return c`<div class="wb-bottom">
    <section aria-label="The Python that leads here"><div class="wb-heading">Python</div>
      <pre class="wb-code" tabindex="0">${n.map((i,r)=>c`<${mt} text=${i} last=${r===n.length-1&&t.position>0} />`)}</pre></section>
    <section aria-label="The program"><div class="wb-heading">Program</div>
      <pre class="wb-code" tabindex="0">${o.map(i=>c`<${mt} text=${i} last=${!1} />`)}</pre></section>
  </div>`}function mt({text:e,last:t}){let n=Se(e,"python").map(([o,i])=>o?c`<span class=${`wb-t-${o}`}>${i}</span>`:i);return c`<span class=${t?"wb-code-line wb-last":"wb-code-line"}>${n}${`
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
`;var xt=new WeakMap;function gn(e){let t=xt.get(e);return t||(t=e.get("kind")==="schedule"?new q(e):new le(e),xt.set(e,t)),t}function vn(){let e="workbench-style",t=document.getElementById(e);if(t?.textContent===Pe)return;let n=t??document.createElement("style");n.id=e,n.textContent=Pe,t||document.head.append(n)}function so({model:e,el:t}){vn();let n=gn(e);return t.classList.add("wb-host"),we(n instanceof q?c`<${wt} store=${n} />`:c`<${ut} store=${n} />`,t),()=>we(null,t)}export{so as render};
